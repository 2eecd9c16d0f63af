"""The roofline that predictions are compared with: one core with 256-bit vectors, and the memory.

What the rates are exactly matters little to an order.
"""

FLOPS = 5e10
"""Operations per second."""
BYTES = 1e10
"""Bytes per second."""
