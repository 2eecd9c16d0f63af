"""Inputs of learned cost models: graphs of kernels, and numbers about them."""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph._native import native
from hlograph.execution.rates import default_rates, features
from hlograph.graph.features import EDGE_FEATURES, NODE_FEATURES
from hlograph.profiling.kernel_seconds import LEAST_SECONDS
from hlograph.reading.parsers import parse_text

LAYOUT_FEATURES = ("is_row_major", "log_minor_dim")
"""Features of nodes beside ``NODE_FEATURES``: 1 if the last dimension is the minor one, and so on
down to the first; log2(1 + x) / 16 of the size of the minor dimension."""

KERNEL_NODE_FEATURES = (*NODE_FEATURES, *LAYOUT_FEATURES)
"""Columns of the nodes of kernels."""

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
    if not text.startswith("HloModule"):
        return _control()
    data = text.encode("utf-8", "surrogateescape")
    return KernelInputs(*native().kernel_inputs(parse_text(data), data, _rates()))


@cache
def _rates() -> NDArray[np.float64]:
    return np.array(default_rates().seconds)


@cache
def _control() -> KernelInputs:
    """Returns the inputs of a loop or branch whose bodies have kernels of their own."""
    numbers = np.zeros(len(number_names()), np.float32)
    for name in ("log_predicted", "log_alone"):
        numbers[NUMBERS.index(name)] = math.log(LEAST_SECONDS)
    numbers[NUMBERS.index("is_control")] = 1.0
    nodes = np.zeros((1, len(KERNEL_NODE_FEATURES)), np.float32)
    edges = np.zeros((0, len(EDGE_FEATURES)), np.float32)
    return KernelInputs(nodes, edges, np.zeros((0, 2), np.int64), numbers)
