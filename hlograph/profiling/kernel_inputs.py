"""Inputs of learned cost models: graphs of kernels, and numbers about them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph._native import native
from hlograph.execution.rates import default_rates, features
from hlograph.graph.features import NODE_FEATURES
from hlograph.graph.vocabulary import OPCODES
from hlograph.reading.parsers import parse_text

if TYPE_CHECKING:
    from hlograph import _xla

LAYOUT_FEATURES = ("is_row_major", "log_minor_dim")
"""Features of nodes beside ``NODE_FEATURES``: 1 if the last dimension is the minor one, and so on
down to the first; log2(1 + x) / 16 of the size of the minor dimension."""

KERNEL_NODE_FEATURES = (*NODE_FEATURES, *LAYOUT_FEATURES)
"""Columns of the nodes of kernels."""

NODE_OPCODES = (*OPCODES, "computation")
"""Names of the ids in the column of opcodes. A computation has none of its own."""

NUMBERS = (
    *("log_flops", "log_bytes", "log_transcendentals", "log_predicted", "log_partitions"),
    *("log_trips", "log_instructions", "is_control"),
    *("kLoop", "kOutput", "kInput", "kCustom", "ynn", "onednn", "small_call"),
    "log_alone",
)
"""Numbers about a kernel. Logarithms are natural. ``log_alone`` is ``log_predicted`` without the
seconds of a program's call. More of them follow: see ``number_names``."""


class KernelInputs(NamedTuple):
    """One kernel. The first three are arrays of a graph, as encoders take them.

    Attributes:
        nodes: float32 ``[N, len(KERNEL_NODE_FEATURES)]``.
        edges: float32 ``[E, 2]``.
        edge_links: int64 ``[E, 2]``.
        numbers: float32 ``[len(number_names())]``.
    """

    nodes: NDArray[np.float32]
    edges: NDArray[np.float32]
    edge_links: NDArray[np.int64]
    numbers: NDArray[np.float32]


class KernelBatch(NamedTuple):
    """Several kernels, whose graphs are one without edges from one kernel to another.

    Attributes:
        nodes: float32 ``[N, len(KERNEL_NODE_FEATURES)]``, of all kernels.
        edges: float32 ``[E, 2]``.
        edge_links: int64 ``[E, 2]``.
        numbers: float32 ``[K, len(number_names())]``.
        offsets: int64 ``[K + 1]``; kernel k has the nodes ``offsets[k]`` to ``offsets[k + 1]``.
    """

    nodes: NDArray[np.float32]
    edges: NDArray[np.float32]
    edge_links: NDArray[np.int64]
    numbers: NDArray[np.float32]
    offsets: NDArray[np.int64]


@cache
def number_names() -> tuple[str, ...]:
    """Returns the names of all numbers: ``NUMBERS``, and log(1 + x) / 8 of the amounts of work."""
    return (*NUMBERS, *(f"work {feature}" for feature in features()))


def kernel_inputs(text: str) -> KernelInputs:
    """Returns the inputs of a kernel.

    Args:
        text: Text of the kernel (``hlograph.profiling.kernel_modules``).

    Raises:
        HloParseError: The text is no module, nor the opcode of a loop or branch.
    """
    nodes, edges, links, numbers, _ = inputs_of_kernels([text])
    return KernelInputs(nodes, edges, links, numbers[0])


def inputs_of_kernels(texts: Iterable[str]) -> KernelBatch:
    """Returns the inputs of kernels. What a loop of other kernels is made of is not seen.

    Args:
        texts: Their texts.

    Raises:
        HloParseError: A text is no module, nor the opcode of a loop or branch.
    """
    kernels = [_parsed(text.encode("utf-8", "surrogateescape")) for text in texts]
    return KernelBatch(*native().kernel_inputs(kernels, _rates()))


def _parsed(text: bytes) -> tuple[_xla.Module | None, bytes]:
    return parse_text(text) if text.startswith(b"HloModule") else None, text


@cache
def _rates() -> NDArray[np.float64]:
    return np.array(default_rates().seconds)
