"""A residual layer of GATv2 on the CPU as one pass; no array has a row for each edge.

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
    """Inputs of the layer; all arrays are contiguous.

    Attributes:
        nodes: float32 ``[N, heads * width]``, the nodes before the layer.
        projected: float32 ``[N, 2 * heads * width]``, the nodes as sources and, in the second
            half, as targets of edges.
        label: float32 ``[L, heads * width]``, the labels of edges.
        weight: float32 ``[heads, width]``.
        bias: float32 ``[heads * width]``.
        own: int64 ``[R]``, below N: row r is node ``own[r]`` after the layer.
        offsets: int64 ``[R + 1]``; row r has the edges ``offsets[r]`` to ``offsets[r + 1]``.
        edge_source: int32 ``[E]``, below N.
        edge_label: int32 ``[E]``, below L.
    """

    nodes: Floats
    projected: Floats
    label: Floats
    weight: Floats
    bias: Floats
    own: NDArray[np.int64]
    offsets: NDArray[np.int64]
    edge_source: NDArray[np.int32]
    edge_label: NDArray[np.int32]


class AttentionOutput(NamedTuple):
    """Results of the layer.

    Attributes:
        out: float32 ``[R, heads * width]``, the nodes after the layer.
        attended: float32 ``[R, heads * width]``, the sums over the edges.
        shares: float32 ``[E, heads]``, the weights of the edges in these sums.
    """

    out: Floats
    attended: Floats
    shares: Floats


class AttentionGradients(NamedTuple):
    """Gradients of the inputs with the same names."""

    nodes: Floats
    projected: Floats
    label: Floats
    weight: Floats
    bias: Floats


def forward(
    given: AttentionInput, negative_slope: float = 0.2, threads: int = 1
) -> AttentionOutput:
    """Adds to each node what it gathers from its neighbours by attention.

    ``out[r]`` is ``nodes[own[r]] + gelu(attended[r] + bias)``. For each head, ``attended[r]`` is
    the sum over the edges of row r of ``a * source[s]``, where ``a`` is the softmax over these
    edges of ``<weight, leaky_relu(source[s] + target[own[r]] + label[l])>`` (Brody, Alon and Yahav
    2022, arXiv:2105.14491, with a term for the edge's label). ``source`` and ``target`` are the two
    halves of ``projected``. A row without edges has attended to zeros. Results do not depend on the
    number of threads, bit for bit.

    Args:
        given: The inputs.
        negative_slope: Slope of the leaky ReLU for negative values.
        threads: Number of threads.

    Raises:
        ValueError: The shapes of the arrays do not match, or the width is not supported.
    """
    rows, (heads, width) = len(given.own), given.weight.shape
    output = AttentionOutput(
        np.empty((rows, heads * width), dtype=np.float32),
        np.empty((rows, heads * width), dtype=np.float32),
        np.empty((len(given.edge_source), heads), dtype=np.float32),
    )
    graphs().attention_forward(*given, negative_slope, threads, *output)
    return output


def backward(
    given: AttentionInput,
    output: AttentionOutput,
    gradient: Floats,
    negative_slope: float = 0.2,
    threads: int = 1,
) -> AttentionGradients:
    """Computes the gradients of the inputs from the gradient of ``out``.

    Args:
        given: The inputs of ``forward``.
        output: The result of ``forward``.
        gradient: Gradient of ``output.out``, float32 ``[R, heads * width]``.
        negative_slope: The same value as for ``forward``.
        threads: Number of threads.
    """
    gradients = AttentionGradients(
        np.empty_like(given.nodes),
        np.empty_like(given.projected),
        np.empty_like(given.label),
        np.empty_like(given.weight),
        np.empty_like(given.bias),
    )
    _, attended, shares = output
    graphs().attention_backward(
        *given, negative_slope, threads, attended, shares, gradient, *gradients
    )
    return gradients
