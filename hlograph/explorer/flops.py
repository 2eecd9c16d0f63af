"""Arithmetic operations of single instructions, from their shapes."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from hlograph.graph.hlo_graph import HloGraph
from hlograph.graph.vocabulary import EDGE_TYPES, OPCODES

# fmt: off
_ONE_PER_ELEMENT = frozenset((
    "abs", "acos", "acosh", "add", "and", "asin", "asinh", "atan2", "atanh", "cbrt", "ceil",
    "clamp", "compare", "complex", "cosine", "cosh", "count-leading-zeros", "divide", "erf",
    "exponential", "exponential-minus-one", "floor", "imag", "is-finite", "log", "log-plus-one",
    "logistic", "maximum", "minimum", "multiply", "negate", "not", "or", "popcnt", "power",
    "real", "remainder", "round-nearest-afz", "round-nearest-even", "rsqrt", "select",
    "shift-left", "shift-right-arithmetic", "shift-right-logical", "sign", "sine", "sinh", "sqrt",
    "subtract", "tan", "tanh", "xor",
))
# fmt: on
_ONE_PER_OPERAND_ELEMENT = frozenset(("reduce", "all-reduce", "reduce-scatter"))
_DATA = EDGE_TYPES.index("data")


def flops(graph: HloGraph) -> NDArray[np.float64]:
    """Returns the arithmetic operations of each node, without those of computations it calls.

    An elementwise instruction counts one for each element of its result, a reduction one for each
    element that it reads, a dot and a convolution two for each product, also with padding;
    everything else counts none. The body of a loop counts once.
    """
    counts = np.zeros(graph.num_nodes)
    names = np.array([*OPCODES, ""])
    opcode = names[graph.opcode]
    elementwise = np.isin(opcode, list(_ONE_PER_ELEMENT))
    counts[elementwise] = graph.elements[elementwise]
    operands = _first_operands(graph)
    for node in np.flatnonzero(np.isin(opcode, list(_ONE_PER_OPERAND_ELEMENT))).tolist():
        if 0 in operands[node]:
            counts[node] = graph.elements[operands[node][0]]
    for node in np.flatnonzero(opcode == "dot").tolist():
        if 0 in operands[node]:
            counts[node] = _dot(graph, node, operands[node][0])
    for node in np.flatnonzero(opcode == "convolution").tolist():
        if 1 in operands[node]:
            counts[node] = _convolution(graph, node, operands[node][1])
    return counts


def _first_operands(graph: HloGraph) -> dict[int, dict[int, int]]:
    """Returns the first two operands, by position, of the nodes for which they count."""
    wanted = {OPCODES.index(name) for name in (*_ONE_PER_OPERAND_ELEMENT, "dot", "convolution")}
    is_wanted = np.isin(graph.opcode, list(wanted))
    source, target = graph.edge_index
    kept = (graph.edge_type == _DATA) & (graph.edge_position < 2) & is_wanted[target]
    operands: dict[int, dict[int, int]] = {n: {} for n in np.flatnonzero(is_wanted).tolist()}
    edges = zip(source[kept].tolist(), target[kept].tolist(), strict=True)
    for (operand, user), position in zip(edges, graph.edge_position[kept].tolist(), strict=True):
        operands[user][position] = operand
    return operands


def _dot(graph: HloGraph, node: int, left: int) -> float:
    dims = graph.dims(left)
    products = prod(dims[dim] for dim in _integers(graph, node, "lhs_contracting_dims"))
    return 2.0 * float(graph.elements[node]) * products


def _convolution(graph: HloGraph, node: int, kernel: int) -> float:
    """Returns the operations of a convolution: a kernel of one output feature for each element."""
    dims = graph.dims(kernel)
    kernels = _integers(graph, node, "conv_kernel")  # input feature, output feature, spatial
    outputs = dims[kernels[1]] if len(kernels) > 1 else 1
    return 2.0 * float(graph.elements[node]) * prod(dims) / max(outputs, 1)


def _integers(graph: HloGraph, node: int, attribute: str) -> list[int]:
    values = graph.attributes(node).get(attribute, ())
    return (
        [int(value) for value in values if isinstance(value, int)]
        if isinstance(values, tuple)
        else []
    )
