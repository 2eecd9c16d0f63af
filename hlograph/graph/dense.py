"""Fully connected layers on the CPU. A row's result depends on that row alone, bit for bit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hlograph._native import graphs

Floats = NDArray[np.float32]


class Dense:
    """Fully connected layer.

    Args:
        weight: float32 ``[O, I]``, copied.
        bias: float32 ``[O]``, copied.

    Raises:
        ValueError: There is not one bias for each output.
    """

    def __init__(self, weight: Floats, bias: Floats) -> None:
        self._layer = graphs().DenseLayer(weight, bias)

    def __call__(self, rows: Floats) -> Floats:
        """Returns ``rows @ weight.T + bias``, float32 ``[N, O]``.

        Args:
            rows: float32 ``[N, I]``.

        Raises:
            ValueError: The rows have another width.
        """
        out = np.empty((len(rows), self._layer.outputs), np.float32)
        self._layer.apply(rows, out)
        return out
