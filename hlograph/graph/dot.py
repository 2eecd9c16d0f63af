"""Export of graphs to Graphviz text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hlograph.graph.attributes import shape_text, value_text
from hlograph.graph.vocabulary import EDGE_TYPES, NODE_TYPES

if TYPE_CHECKING:
    from hlograph.graph.hlo_graph import HloGraph

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
