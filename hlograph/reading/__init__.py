"""Readers of modules: sources, decompression, XLA's parsers, conversion of StableHLO."""
