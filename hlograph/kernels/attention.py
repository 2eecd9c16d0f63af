"""GATv2 attention on the CPU as a fused kernel, which creates no array with a row for each edge.

The functions take and return numpy arrays and include gradients, as a basis for frameworks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph._native import graphs

HEAD_WIDTHS = (8, 16, 32, 64)
"""Supported widths of a head."""

Floats = NDArray[np.float32]


class AttentionInput(NamedTuple):
    """Inputs of attention; all arrays are contiguous.

    Attributes:
        source: float32 ``[S, heads * width]``.
        target: float32 ``[R, heads * width]``.
        label: float32 ``[L, heads * width]``.
        weight: float32 ``[heads, width]``.
        offsets: int64 ``[R + 1]``; target r has the edges ``offsets[r]`` to ``offsets[r + 1]``.
        edge_source: int32 ``[E]``, below S.
        edge_label: int32 ``[E]``, below L.
    """

    source: Floats
    target: Floats
    label: Floats
    weight: Floats
    offsets: NDArray[np.int64]
    edge_source: NDArray[np.int32]
    edge_label: NDArray[np.int32]


class AttentionGradients(NamedTuple):
    """Gradients of the inputs with the same names."""

    source: Floats
    target: Floats
    label: Floats
    weight: Floats


def forward(
    given: AttentionInput, negative_slope: float = 0.2, threads: int = 1
) -> tuple[Floats, Floats]:
    """Computes the attention of each target over its edges, for each head.

    ``out[r]`` is the sum over the edges of target r of ``a * source[s]``, where ``a`` is the
    softmax over these edges of ``<weight, leaky_relu(source[s] + target[r] + label[l])>`` (Brody,
    Alon and Yahav 2022, arXiv:2105.14491, with a term for the edge's label). A target without
    edges gets zeros. The result does not depend on the number of threads, bit for bit.

    Args:
        given: The inputs.
        negative_slope: Slope of the leaky ReLU for negative values.
        threads: Number of threads.

    Returns:
        ``out``, float32 ``[R, heads * width]``, and ``a``, float32 ``[E, heads]``.

    Raises:
        ValueError: The shapes of the arrays do not match, or the width is not supported.
    """
    out = np.empty_like(given.target)
    attention = np.empty((len(given.edge_source), len(given.weight)), dtype=np.float32)
    graphs().attention_forward(*given, negative_slope, threads, out, attention)
    return out, attention


def backward(
    given: AttentionInput,
    out: Floats,
    attention: Floats,
    gradient: Floats,
    negative_slope: float = 0.2,
    threads: int = 1,
) -> AttentionGradients:
    """Computes the gradients of the inputs from the gradient of ``out``.

    Args:
        given: The inputs of ``forward``.
        out: The first result of ``forward``.
        attention: The second result of ``forward``.
        gradient: Gradient of ``out``, float32 ``[R, heads * width]``.
        negative_slope: The same value as for ``forward``.
        threads: Number of threads.
    """
    gradients = AttentionGradients(
        np.empty_like(given.source),
        np.empty_like(given.target),
        np.empty_like(given.label),
        np.empty_like(given.weight),
    )
    graphs().attention_backward(
        *given, negative_slope, threads, out, attention, gradient, *gradients
    )
    return gradients
