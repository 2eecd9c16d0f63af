"""Comparison of ways to tune programs: how much faster each makes them, at equal budgets."""
