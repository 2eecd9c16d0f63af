"""The paper's experiments and what they lack, each a module that makes a ``Study``."""
