"""Fully connected layers after layer normalisation on the CPU, with gradients.

A row's result depends on that row alone, bit for bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph._native import graphs

LANES = 8
"""Rows that are normalised, hidden layers and pooled columns have a multiple of this width."""

Floats = NDArray[np.float32]


class Normalised(NamedTuple):
    """Layer normalisation, followed by a fully connected layer; W inputs, O outputs.

    Attributes:
        scale: float32 ``[W]``.
        shift: float32 ``[W]``.
        epsilon: What is added to the variance.
        weight: float32 ``[O, W]``.
        bias: float32 ``[O]``.
    """

    scale: Floats
    shift: Floats
    epsilon: float
    weight: Floats
    bias: Floats


class NormalisedGradients(NamedTuple):
    """Gradients of rows, and of the parameters with the same names."""

    rows: Floats
    scale: Floats
    shift: Floats
    weight: Floats
    bias: Floats


def forward(layer: Normalised, rows: Floats, threads: int = 1) -> Floats:
    """Normalises rows, and applies the fully connected layer.

    Args:
        layer: The parameters.
        rows: float32 ``[N, W]``, where W is a multiple of 8.
        threads: Number of threads, which changes no bit.

    Returns:
        float32 ``[N, O]``.

    Raises:
        ValueError: The shapes of the arrays do not match, or the width is not supported.
    """
    out = np.empty((len(rows), len(layer.bias)), np.float32)
    graphs().Projection(*layer).forward(rows, threads, out)
    return out


def backward(
    layer: Normalised, rows: Floats, gradient: Floats, threads: int = 1
) -> NormalisedGradients:
    """Computes the gradients of rows and parameters from that of the result.

    Args:
        layer: The parameters.
        rows: The input of ``forward``.
        gradient: Gradient of its result, float32 ``[N, O]``.
        threads: Number of threads, which changes no bit.
    """
    parameters = (layer.scale, layer.shift, layer.weight, layer.bias)
    gradients = NormalisedGradients(np.empty_like(rows), *map(np.empty_like, parameters))
    graphs().Projection(*layer).backward(rows, gradient, threads, *gradients)
    return gradients
