"""Inputs of the cost model: graphs of kernels, and numbers about them."""

import math
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph.execution.rates import default_rates, features
from hlograph.graph.features import NODE_FEATURES
from hlograph.module import Module
from hlograph.profiling.kernel_seconds import LEAST_SECONDS, rated_alone, rated_seconds, work_of
from hlograph.profiling.optimized_module import known_trips
from hlograph.reading.hlo_text import read_instructions

LAYOUT_FEATURES = ("is_row_major", "log_minor_dim")
"""Features of nodes beside ``NODE_FEATURES``: 1 if the last dimension is the minor one, and so on
down to the first; log2(1 + x) / 16 of the size of the minor dimension."""

NUMBERS = (
    *("log_flops", "log_bytes", "log_transcendentals", "log_predicted", "log_partitions"),
    *("log_trips", "log_instructions", "is_control"),
    *("kLoop", "kOutput", "kInput", "kCustom", "ynn", "onednn", "small_call"),
    "log_alone",
)
"""Numbers about a kernel. Logarithms are natural. ``log_alone`` is ``log_predicted`` without the
seconds of a program's call. More of them follow: see ``number_names``."""

FLOPS, BYTES = 5e10, 1e10
"""Operations and bytes per second of a roofline: one core with 256-bit vectors, and the memory.
What they are exactly matters little to an order."""

# Scale of the logarithms of amounts of work.
_WORK = 1 / 8
_PARTITIONS = re.compile(r'"outer_dimension_partitions":\[([^\]]*)\]')


class KernelInputs(NamedTuple):
    """One kernel. The first three are arrays of a graph, as encoders take them.

    Attributes:
        nodes: float32 ``[N, len(NODE_FEATURES) + len(LAYOUT_FEATURES)]``.
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
    """Returns the names of all numbers: ``NUMBERS``, and the amounts of work, as logarithms."""
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
    module = Module.from_text(text)
    graph = module.graph()
    features = module.features()
    nodes = np.concatenate([features.nodes, _layouts(graph)], axis=1)
    return KernelInputs(nodes, features.edges, features.links, _numbers(text, module))


def _control() -> KernelInputs:
    """Returns the inputs of a loop or branch whose bodies have kernels of their own."""
    width = len(NODE_FEATURES) + len(LAYOUT_FEATURES)
    numbers = np.zeros(len(number_names()), np.float32)
    for name in ("log_predicted", "log_alone"):
        numbers[NUMBERS.index(name)] = math.log(LEAST_SECONDS)
    numbers[NUMBERS.index("is_control")] = 1.0
    nodes, edges = np.zeros((1, width), np.float32), np.zeros((0, 2), np.float32)
    return KernelInputs(nodes, edges, np.zeros((0, 2), np.int64), numbers)


def _layouts(graph: Any) -> NDArray[np.float32]:
    """Returns the features of the nodes' layouts, float32 ``[N, len(LAYOUT_FEATURES)]``."""
    layouts = np.zeros((graph.num_nodes, len(LAYOUT_FEATURES)), np.float32)
    ranks = np.diff(graph.dim_offsets)
    owners = np.repeat(np.arange(graph.num_nodes), ranks)
    places = np.arange(len(graph.dim_layout)) - np.repeat(graph.dim_offsets[:-1], ranks)
    in_order = graph.dim_layout == np.repeat(ranks, ranks) - 1 - places
    layouts[:, 0] = 1.0
    np.minimum.at(layouts[:, 0], owners, in_order.astype(np.float32))
    first = graph.dim_offsets[:-1][ranks > 0]
    minor = graph.dim_layout[first]
    sizes = graph.dim_size[first + np.maximum(minor, 0)]
    layouts[ranks > 0, 1] = np.log2(1.0 + np.maximum(sizes, 0)) / 16
    return layouts


def _numbers(text: str, module: Module) -> NDArray[np.float32]:
    cost = module.cost()
    roots = (each for each in read_instructions(text) if each.is_root)
    kind = next(filter(None, (root.attribute("kind") for root in roots)), "")
    partitions = _PARTITIONS.search(text)
    parts = partitions[1].replace('"', "").split(",") if partitions else []
    values: Mapping[str, float] = {
        "log_flops": math.log1p(max(cost.flops, 0.0)),
        "log_bytes": math.log1p(max(cost.bytes_accessed, 0.0)),
        "log_transcendentals": math.log1p(max(cost.transcendentals, 0.0)),
        "log_predicted": math.log(rated_seconds(module, default_rates())),
        "log_partitions": math.log(math.prod(int(part) for part in parts if part)),
        "log_trips": math.log(max([1, *known_trips(text)])),
        "log_instructions": math.log1p(module.op_count),
        "ynn": float('"__ynn_fusion"' in text),
        "onednn": float('"__onednn_fusion"' in text),
        "small_call": float("xla_cpu_small_call" in text),
        kind: 1.0,
        "log_alone": math.log(rated_alone(module, default_rates())),
    }
    numbers = np.zeros(len(number_names()), np.float32)
    numbers[: len(NUMBERS)] = [values.get(name, 0.0) for name in NUMBERS]
    for feature, amount in work_of(module).items():
        numbers[len(NUMBERS) + feature] = _WORK * math.log1p(amount)
    return numbers
