"""Measures how much faster ``hlograph.optimize`` makes the programs of the speed set."""
