"""Export of graphs to Model Explorer's JSON, which its server and its web page open."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hlograph.graph.attributes import shape_text, value_text
from hlograph.graph.vocabulary import EDGE_TYPES

if TYPE_CHECKING:
    from hlograph.graph.hlo_graph import HloGraph

_LONGEST_VALUE = 400

_Node = dict[str, Any]


def to_model_explorer(graph: HloGraph) -> str:
    """Returns a graph as JSON of Model Explorer, a collection with a graph for each computation.

    The entry computation comes first. An instruction that calls computations has them as subgraphs,
    which Model Explorer opens from it. A control dependency is an edge of which both ends are
    called ``control``.
    """
    count = graph.num_nodes - graph.num_computations
    names = graph.names()
    nodes = [_node(graph, node, names[node]) for node in range(count)]
    sources, targets = graph.edge_index.tolist()
    types, positions = graph.edge_type.tolist(), graph.edge_position.tolist()
    edges = zip(sources, targets, types, positions, strict=True)
    # Operands and called computations in their order.
    for source, target, kind, position in sorted(edges, key=lambda edge: edge[3]):
        if EDGE_TYPES[kind] == "call":
            nodes[source]["subgraphIds"].append(names[target])
        elif EDGE_TYPES[kind] == "data":
            nodes[target]["incomingEdges"].append(_edge(source, "0", str(position)))
        elif EDGE_TYPES[kind] == "control":
            nodes[target]["incomingEdges"].append(_edge(source, "control", "control"))
    members: list[list[_Node]] = [[] for _ in range(graph.num_computations)]
    for node, computation in zip(nodes, graph.computation.tolist(), strict=False):
        members[computation].append(node)
    # The first graph is the one that Model Explorer shows.
    order = sorted(range(len(members)), key=lambda each: not graph.is_entry[count + each])
    graphs = [{"id": names[count + each], "nodes": members[each]} for each in order]
    return json.dumps({"label": graphs[0]["id"], "graphs": graphs}, separators=(",", ":"))


def _node(graph: HloGraph, node: int, name: str) -> _Node:
    attributes = {"name": name} | {
        key: value_text(value, _LONGEST_VALUE) for key, value in graph.attributes(node).items()
    }
    layout = graph.layout(node)
    shape = {"tensor_shape": shape_text(graph, node)}
    if layout:
        shape["layout"] = value_text(layout, _LONGEST_VALUE)
    if graph.is_root[node]:
        attributes["root"] = "true"
    return {
        "id": str(node),
        "label": graph.opcode_name(node),
        "namespace": "",
        "subgraphIds": [],
        "attrs": _pairs(attributes),
        "incomingEdges": [],
        "outputsMetadata": [{"id": "0", "attrs": _pairs(shape)}],
    }


def _edge(source: int, output: str, operand: str) -> dict[str, str]:
    return {
        "sourceNodeId": str(source),
        "sourceNodeOutputId": output,
        "targetNodeInputId": operand,
    }


def _pairs(values: dict[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in values.items()]
