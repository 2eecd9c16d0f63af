"""Runs modules: compiled or interpreted, timed, and compared with one another."""
