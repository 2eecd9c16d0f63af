"""Checks of what the rules do to floating-point numbers and to integers of every width."""
