"""Execution of modules: compilation, run times, and comparison of results."""
