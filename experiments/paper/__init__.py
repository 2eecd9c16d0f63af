"""The paper's experiments and further ones, each a module that makes a ``Study``."""
