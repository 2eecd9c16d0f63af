"""Search for short orders of passes, all methods over one table of states and at equal budgets."""
