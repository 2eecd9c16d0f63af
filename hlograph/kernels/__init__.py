"""Numeric kernels over arrays that need no XLA."""
