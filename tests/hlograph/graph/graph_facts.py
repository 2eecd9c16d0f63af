"""Reads graphs by the names of their instructions, so that tests can state them by hand."""

from __future__ import annotations

from collections import Counter
from typing import Any

import hlograph
from hlograph import EDGE_TYPES, ELEMENT_TYPES, NODE_TYPES, HloGraph

Edge = tuple[str, str, str, int]


def node(graph: HloGraph, name: str) -> int:
    """The number of the one node of that name."""
    (index,) = (i for i in range(graph.num_nodes) if graph.name(i) == name)
    return index


def edges(graph: HloGraph) -> Counter[Edge]:
    """All edges as (type, source, target, position)."""
    columns = (*graph.edge_index.tolist(), graph.edge_type.tolist(), graph.edge_position.tolist())
    return Counter(
        (EDGE_TYPES[edge_type], graph.name(source), graph.name(target), position)
        for source, target, edge_type, position in zip(*columns, strict=True)
    )


def data_edges(**operands: str) -> Counter[Edge]:
    """The data edges of users, each with the names of its operands, separated by spaces."""
    return Counter(
        ("data", operand, user, position)
        for user, names in operands.items()
        for position, operand in enumerate(names.split())
    )


def types(graph: HloGraph) -> dict[str, str]:
    """Node types by name."""
    return {graph.name(i): NODE_TYPES[t] for i, t in enumerate(graph.node_type.tolist())}


def shape(graph: HloGraph, name: str) -> str:
    """The shape of a node, as HLO text writes it, without layout."""
    index = node(graph, name)
    element_type = ELEMENT_TYPES[graph.element_type[index]]
    return f"{element_type}[{','.join(map(str, graph.dims(index)))}]"


def attributes(graph: HloGraph, name: str) -> dict[str, Any]:
    """The attributes of the node of that name."""
    return graph.attributes(node(graph, name))


def traits(text: str, name: str) -> set[str]:
    """The traits of an instruction of a module."""
    graph = hlograph.parse(text)
    return set(graph.trait_names(node(graph, name)))
