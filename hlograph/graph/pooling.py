"""The terms of attention pooling that depend on a node alone, on the CPU as one pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hlograph._native import graphs
from hlograph.graph.dense import LANES

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class PoolingShape:
    """Columns of a row: ``heads * width`` values, ``kinds`` logits of kinds, and gates.

    There is a gate for each head first. ``width``, ``kinds`` and all columns are multiples of 8.
    """

    heads: int
    width: int
    kinds: int
    limit: float
    """Bound of the logarithm of a weight."""


def fits(shape: PoolingShape) -> bool:
    """Returns True if the extension can compute a shape, with as many gates as fill the columns."""
    return shape.width % LANES == 0 and shape.kinds % LANES == 0


def forward(projected: Floats, shape: PoolingShape, threads: int = 1) -> Floats:
    """Computes the terms of rows.

    With ``w = exp(limit * tanh(gate / limit))`` these are, column by column, each value times the
    ``w`` of its head, the sigmoids of the logits of kinds, and the ``w`` of all gates.

    Args:
        projected: float32 ``[N, columns]``.
        shape: What the columns are.
        threads: Number of threads, which changes no bit.

    Returns:
        float32 ``[N, columns]``.

    Raises:
        ValueError: The columns do not fit the shape.
    """
    terms = np.empty_like(projected)
    graphs().pooling_terms(projected, *_columns(shape), threads, terms)
    return terms


def backward(
    projected: Floats, shape: PoolingShape, terms: Floats, gradient: Floats, threads: int = 1
) -> Floats:
    """Computes the gradient of the input from that of the terms, float32 ``[N, columns]``.

    Args:
        projected: The input of ``forward``.
        shape: What the columns are.
        terms: The result of ``forward``.
        gradient: Gradient of the terms, float32 ``[N, columns]``.
        threads: Number of threads.
    """
    to_projected = np.empty_like(projected)
    graphs().pooling_terms_backward(
        projected, *_columns(shape), threads, terms, gradient, to_projected
    )
    return to_projected


def _columns(shape: PoolingShape) -> tuple[int, int, int, float]:
    return shape.heads, shape.width, shape.kinds, shape.limit
