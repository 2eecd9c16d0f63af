"""Searches over rewrites: their space, heuristics and methods."""
