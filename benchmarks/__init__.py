"""Measures and compares; only tests import these programs."""
