"""Comparison of ways to tune programs, at equal budgets."""
