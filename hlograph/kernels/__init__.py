"""Numeric kernels on arrays, without XLA."""
