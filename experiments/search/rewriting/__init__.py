"""Searches over single rewrites: what every rewriting method moves in, and the methods."""
