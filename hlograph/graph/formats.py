"""Graphs as JSON, as DOT of Graphviz, and for Model Explorer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hlograph.errors import HloError
from hlograph.graph.attributes import shape_text, value_text
from hlograph.graph.columns import COLUMNS, VOCABULARIES, Columns
from hlograph.graph.file import DAMAGE, VERSION, check_version, checked_columns
from hlograph.graph.vocabulary import EDGE_TYPES, NODE_TYPES

if TYPE_CHECKING:
    from hlograph.graph.hlo_graph import HloGraph

_FORMAT = "hlograph.HloGraph"


def to_json(graph: HloGraph) -> str:
    """Returns a graph as JSON: its columns, and the vocabularies that its ids are indices of.

    ``attribute_values`` has integers of up to 64 bits, which JavaScript would round. ``names``
    replaces the columns ``name_offsets`` and ``name_text``.
    """
    columns = {name: getattr(graph, name) for name in COLUMNS if not name.startswith("name_")}
    document = {
        "format": _FORMAT,
        "version": VERSION,
        "vocabularies": VOCABULARIES,
        "columns": {name: values.tolist() for name, values in columns.items()},
        "strings": graph.strings,
        "names": graph.names(),
    }
    return json.dumps(document, separators=(",", ":"))


def from_json(text: str) -> dict[str, Any]:
    """Reads JSON that ``to_json`` wrote.

    Returns:
        The arguments of ``HloGraph``: the columns and ``strings``.

    Raises:
        HloError: The text is something else, or its columns are inconsistent.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise HloError(f"expected a graph as JSON, got text that is not JSON: {error}") from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise HloError(f'expected JSON with "format": "{_FORMAT}", as HloGraph.to_json writes it')
    check_version("the JSON", document.get("version"))
    try:
        columns = _columns_from_lists(document["columns"], document["names"])
        return checked_columns(columns, document["vocabularies"], document["strings"])
    except DAMAGE as error:
        raise HloError(f"the JSON of a graph is damaged: {error!r}. Write it again") from error


def _columns_from_lists(lists: dict[str, Any], names: list[str]) -> Columns:
    encoded = [name.encode() for name in names]
    name_offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    name_text = np.frombuffer(b"".join(encoded), np.uint8)
    columns: Columns = {"name_offsets": name_offsets, "name_text": name_text}
    for name, column in COLUMNS.items():
        if name not in columns:
            columns[name] = _array(name, lists[name], column.dtype)
    return columns


def _array(name: str, values: object, dtype: str) -> NDArray[Any]:
    array = np.array(values)
    if array.size and array.dtype.kind not in "biu":
        raise HloError(f"column {name} holds {array.dtype}, not integers")
    converted = array.astype(dtype)
    if not np.array_equal(converted, array):
        raise HloError(f"column {name} has values that do not fit its type {dtype}")
    return converted


_NODE_STYLES = {
    "instruction": "shape=box",
    "parameter": 'shape=box, style="rounded,filled", fillcolor="#dbe9f6"',
    "constant": 'shape=box, style=filled, fillcolor="#eeeeee"',
    "computation": 'shape=hexagon, style=filled, fillcolor="#fdf0d5"',
}
_EDGE_STYLES = {
    "data": "",
    "control": 'style=dashed, color="#c1121f"',
    "call": 'style=bold, color="#b8860b"',
    "member": "style=dotted, arrowhead=none",
}
_LONGEST_VALUE = 40


def to_dot(graph: HloGraph) -> str:
    """Returns the graph in the DOT language; ``dot -Tsvg`` draws it.

    Computations are clusters, and the entry computation has a thick frame. Roots have a double
    outline. An edge is labelled with its position if its target has several operands, or its
    source calls several computations.
    """
    lines = ["digraph module {", "  rankdir=TB;", '  node [fontname="Helvetica", fontsize=10];']
    by_computation: list[list[int]] = [[] for _ in range(graph.num_computations)]
    for node, computation in enumerate(graph.computation.tolist()):
        by_computation[computation].append(node)
    for computation, nodes in enumerate(by_computation):
        # The computation itself has the highest number of its cluster.
        width = 2 if graph.is_entry[nodes[-1]] else 1
        lines.append(f"  subgraph cluster_{computation} {{")
        lines.append(f"    label={_quoted(graph.name(nodes[-1]))}; penwidth={width};")
        lines.extend(f"    {_node(graph, node)}" for node in nodes)
        lines.append("  }")
    lines.extend(f"  {edge}" for edge in _edges(graph))
    lines.append("}")
    return "\n".join(lines) + "\n"


def _node(graph: HloGraph, node: int) -> str:
    node_type = NODE_TYPES[graph.node_type[node]]
    label = [graph.opcode_name(node), graph.name(node)]
    if node_type != "computation":
        label.append(shape_text(graph, node))
        label.extend(
            f"{key}={value_text(value, _LONGEST_VALUE)}"
            for key, value in graph.attributes(node).items()
        )
    outline = ", peripheries=2" if graph.is_root[node] else ""
    return f"n{node} [label={_quoted(*label)}, {_NODE_STYLES[node_type]}{outline}];"


def _edges(graph: HloGraph) -> Iterator[str]:
    sources, targets = graph.edge_index.tolist()
    has_several = _have_several(graph)
    types, positions = graph.edge_type.tolist(), graph.edge_position.tolist()
    for source, target, edge_type, position in zip(sources, targets, types, positions, strict=True):
        name = EDGE_TYPES[edge_type]
        owner = target if name == "data" else source
        label = f'label="{position}"' if (name, owner) in has_several else ""
        style = ", ".join(part for part in (label, _EDGE_STYLES[name]) if part)
        yield f"n{source} -> n{target}" + (f" [{style}];" if style else ";")


def _have_several(graph: HloGraph) -> set[tuple[str, int]]:
    """Returns the users with several operands and callers of several computations, by edge type."""
    several = set()
    sources, targets = graph.edge_index.tolist()
    for i in graph.edge_position.nonzero()[0].tolist():
        name = EDGE_TYPES[graph.edge_type[i]]
        several.add((name, targets[i] if name == "data" else sources[i]))
    return several


def _quoted(*lines: str) -> str:
    """Returns a DOT string of several lines, in which nothing is an escape of Graphviz."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(line.replace("\n", " ") for line in escaped) + '"'


_LONGEST_SHOWN = 400

_Node = dict[str, Any]


def to_model_explorer(graph: HloGraph) -> str:
    """Returns a graph as JSON of Model Explorer, a collection with a graph for each computation.

    The entry computation comes first. An instruction that calls computations has them as subgraphs,
    which Model Explorer opens from it. A control dependency is an edge of which both ends are
    called ``control``.
    """
    count = graph.num_nodes - graph.num_computations
    names = graph.names()
    nodes = [_explorer_node(graph, node, names[node]) for node in range(count)]
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


def _explorer_node(graph: HloGraph, node: int, name: str) -> _Node:
    attributes = {"name": name} | {
        key: value_text(value, _LONGEST_SHOWN) for key, value in graph.attributes(node).items()
    }
    layout = graph.layout(node)
    shape = {"tensor_shape": shape_text(graph, node)}
    if layout:
        shape["layout"] = value_text(layout, _LONGEST_SHOWN)
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
