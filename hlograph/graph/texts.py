"""Shapes and attributes of nodes as text, for exports that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlograph.graph.attributes import AttributeValue
from hlograph.graph.vocabulary import ELEMENT_TYPES

if TYPE_CHECKING:
    from hlograph.graph.hlo_graph import HloGraph


def shape_text(graph: HloGraph, node: int) -> str:
    """Returns the shape of a node, such as ``f32[<=10,4]``; of a tuple its element type alone."""
    element_type = ELEMENT_TYPES[graph.element_type[node]]
    if element_type in ("tuple", "token", "opaque"):
        return element_type
    begin = int(graph.dim_offsets[node])
    dims = [
        ("<=" if graph.dim_is_dynamic[begin + i] else "") + (str(size) if size >= 0 else "?")
        for i, size in enumerate(graph.dims(node))
    ]
    return f"{element_type}[{','.join(dims)}]"


def value_text(value: AttributeValue, longest: int) -> str:
    """Returns the value of an attribute, cut to a number of characters."""
    if isinstance(value, tuple):
        parts = ("x".join(map(str, v)) if isinstance(v, tuple) else str(v) for v in value)
        text = "{" + ",".join(parts) + "}"
    else:
        text = str(value)
    return text if len(text) <= longest else text[: longest - 3] + "..."
