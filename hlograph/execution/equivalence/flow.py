"""Data flow of a module: operands, users, called computations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hlograph.graph.vocabulary import EDGE_TYPES, ELEMENT_TYPES

if TYPE_CHECKING:
    from hlograph.graph.hlo_graph import HloGraph

Path = tuple[int, ...]
Value = tuple[int, Path]
"""An array: a node, and the tuple indices that lead from its result to the array."""


class Flow:
    """The data flow of a module's graph, across calls, loops and conditionals.

    Attributes:
        graph: The graph.
        opcodes: Name of each node's opcode; ``computation`` for a computation.
        operands: Operands of each node, in order.
        users: (user, position) of each node.
        called: Numbers of the computations that each node calls, in order.
        callers: Nodes that call each computation, by its number.
        roots: Root node of each computation.
        elements: Number of elements of each node.
        computation: Number of each node's computation.
        parameters: Parameter nodes of each computation, by number.
    """

    def __init__(self, graph: HloGraph) -> None:
        self.graph = graph
        self.elements: Sequence[int] | NDArray[np.int64] = graph.elements
        self.computation: Sequence[int] | NDArray[np.int32] = graph.computation
        count = graph.num_nodes
        first_computation = count - graph.num_computations
        self.opcodes = [graph.opcode_name(node) for node in range(count)]
        self.operands: list[list[int]] = [[] for _ in range(count)]
        self.users: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        self.called: list[list[int]] = [[] for _ in range(count)]
        self.callers: list[list[int]] = [[] for _ in range(graph.num_computations)]
        self.roots = [0] * graph.num_computations
        self.parameters: list[dict[int, int]] = [{} for _ in range(graph.num_computations)]
        order = np.argsort(graph.edge_position, kind="stable")
        data, _, call, member = range(len(EDGE_TYPES))
        for kind, source, target, position in zip(
            graph.edge_type[order].tolist(),
            *graph.edge_index[:, order].tolist(),
            graph.edge_position[order].tolist(),
            strict=True,
        ):
            if kind == data:
                self.operands[target].append(source)
                self.users[source].append((target, position))
            elif kind == call:
                self.called[source].append(target - first_computation)
                self.callers[target - first_computation].append(source)
            elif kind == member:
                self.roots[source - first_computation] = target
        for node, opcode in enumerate(self.opcodes):
            if opcode == "parameter":
                number = self.attribute(node, "parameter_number")
                self.parameters[int(graph.computation[node])][number] = node

    @property
    def entry(self) -> int:
        """The number of the entry computation."""
        return int(np.argmax(self.graph.is_entry[-self.graph.num_computations :]))

    def attribute(self, node: int, name: str, default: Any = None) -> Any:
        """Returns a decoded attribute of a node, or the default."""
        return self.graph.attributes(node).get(name, default)

    def window_sizes(self, node: int) -> tuple[int, ...]:
        """Returns the sizes of the window of a node that has one."""
        return tuple(dimension.size for dimension in self.attribute(node, "window"))

    def dims(self, node: int) -> tuple[int, ...]:
        """Returns the sizes of a node's dimensions."""
        return self.graph.dims(node)

    def element_type(self, node: int) -> str:
        """Returns the element type of a node."""
        return ELEMENT_TYPES[self.graph.element_type[node]]
