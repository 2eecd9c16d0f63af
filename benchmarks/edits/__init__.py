"""Programs before and after an edit: how much of a tuned program's gain survives."""
