"""Sums of rows that several sums share, on the CPU; no array has a row for each entry."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph._native import graphs

Floats = NDArray[np.float32]


class WeightedEntries(NamedTuple):
    """Entries of S sums over N rows.

    Attributes:
        offsets: int64 ``[S + 1]``; sum s has the entries ``offsets[s]`` to ``offsets[s + 1]``.
        place: int32 ``[P]``, below N, the row of each entry.
        weight: float32 ``[P]``.
    """

    offsets: NDArray[np.int64]
    place: NDArray[np.int32]
    weight: Floats


def forward(values: Floats, entries: WeightedEntries, threads: int = 1) -> Floats:
    """Sums up ``weight * values[place]`` over the entries of each sum.

    Args:
        values: float32 ``[N, W]``.
        entries: The entries.
        threads: Number of threads, which changes no bit.

    Returns:
        float32 ``[S, W]``.

    Raises:
        ValueError: The shapes of the arrays do not match, or there is no such row.
    """
    out = np.empty((len(entries.offsets) - 1, values.shape[1]), dtype=np.float32)
    graphs().weighted_sums(values, *entries, threads, out)
    return out


def backward(gradient: Floats, entries: WeightedEntries, rows: int, threads: int = 1) -> Floats:
    """Computes the gradient of the values, float32 ``[rows, W]``, from that of the sums.

    Args:
        gradient: float32 ``[S, W]``.
        entries: The entries.
        rows: Number of rows N.
        threads: Number of threads.
    """
    to_values = np.empty((rows, gradient.shape[1]), dtype=np.float32)
    graphs().weighted_sums_backward(gradient, *entries, threads, to_values)
    return to_values
