"""Tuning of a program: the knobs that its compilation leaves open, and searches over them."""
