"""Proofs of what rewrite rules claim, and their tests."""
