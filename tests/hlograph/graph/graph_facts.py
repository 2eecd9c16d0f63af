"""Access to graphs by the names of instructions, so that tests can state facts by hand."""

from collections import Counter
from typing import Any

import hlograph
from hlograph import EDGE_TYPES, ELEMENT_TYPES, NODE_TYPES, HloGraph

Edge = tuple[str, str, str, int]


def node(graph: HloGraph, name: str) -> int:
    """Returns the number of the only node with that name."""
    (index,) = (i for i in range(graph.num_nodes) if graph.name(i) == name)
    return index


def edges(graph: HloGraph) -> Counter[Edge]:
    """Returns all edges as (type, source, target, position)."""
    columns = (*graph.edge_index.tolist(), graph.edge_type.tolist(), graph.edge_position.tolist())
    return Counter(
        (EDGE_TYPES[edge_type], graph.name(source), graph.name(target), position)
        for source, target, edge_type, position in zip(*columns, strict=True)
    )


def data_edges(**operands: str) -> Counter[Edge]:
    """Returns the data edges of users, each with the names of its operands, separated by spaces."""
    return Counter(
        ("data", operand, user, position)
        for user, names in operands.items()
        for position, operand in enumerate(names.split())
    )


def types(graph: HloGraph) -> dict[str, str]:
    """Returns the node types by name."""
    return {graph.name(i): NODE_TYPES[t] for i, t in enumerate(graph.node_type.tolist())}


def shape(graph: HloGraph, name: str) -> str:
    """Returns the shape of a node as in HLO text, without layout."""
    index = node(graph, name)
    element_type = ELEMENT_TYPES[graph.element_type[index]]
    return f"{element_type}[{','.join(map(str, graph.dims(index)))}]"


def attributes(graph: HloGraph, name: str) -> dict[str, Any]:
    """Returns the attributes of the node with that name."""
    return graph.attributes(node(graph, name))


def traits(text: str, name: str) -> set[str]:
    """Returns the traits of an instruction of a module."""
    graph = hlograph.parse(text)
    return set(graph.trait_names(node(graph, name)))
