"""Execution of modules: running, timing in turns, predicted times, comparison of results."""
