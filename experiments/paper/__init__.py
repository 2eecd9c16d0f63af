"""The paper's experiments and further ones: each makes a ``Study``, of which a page is made."""
