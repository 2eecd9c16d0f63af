"""Attributes and shapes of a node, as Python values and as text for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from hlograph.graph.vocabulary import ATTRIBUTES, ELEMENT_TYPES, TEXT_ATTRIBUTES

if TYPE_CHECKING:
    from hlograph.graph.hlo_graph import HloGraph


class WindowDimension(NamedTuple):
    """One dimension of a window (``xla.WindowDimension``)."""

    size: int
    stride: int
    padding_low: int
    padding_high: int
    base_dilation: int
    window_dilation: int
    reversal: int


class PaddingDimension(NamedTuple):
    """One dimension of a pad (``xla.PaddingConfig``)."""

    low: int
    high: int
    interior: int


AttributeValue: TypeAlias = (
    str
    | bool
    | int
    | tuple[int, ...]
    | tuple[float, ...]
    | tuple[WindowDimension, ...]
    | tuple[PaddingDimension, ...]
)

_FLAGS = frozenset({"is_stable", "indices_are_sorted", "unique_indices", "literal_is_splat"})
_NUMBERS = frozenset(
    {
        "inferred_dimension",
        "feature_group_count",
        "batch_group_count",
        "parameter_number",
        "tuple_index",
        "index_vector_dim",
    }
)
_RECORDS = {"window": WindowDimension, "padding": PaddingDimension}


def decode_attributes(graph: HloGraph, node: int) -> dict[str, AttributeValue]:
    """Returns the attributes of a node.

    Keys are names of ``vocabulary.ATTRIBUTES``; values are texts, bools, numbers or tuples of
    numbers. There are two exceptions. ``window`` and ``padding`` are tuples with one record for
    each dimension. ``literal_ints`` and ``literal_floats`` both have the key ``literal``: a tuple
    of ints, floats or (for pred) bools with all elements in row-major order, or with the one value
    of all elements if ``literal_is_splat``.

    Args:
        graph: The graph.
        node: Number of the node, from 0.
    """
    attributes: dict[str, AttributeValue] = {}
    begin, end = graph.attribute_offsets[node : node + 2].tolist()
    element_type = ELEMENT_TYPES[graph.element_type[node]]
    for i in range(begin, end):
        name = ATTRIBUTES[graph.attribute_key[i]]
        first, last = graph.value_offsets[i : i + 2].tolist()
        values = graph.attribute_values[first:last]
        if name == "literal_floats":
            attributes["literal"] = tuple(values.view(np.float64).tolist())
        elif name == "literal_ints":
            attributes["literal"] = _literal(values.tolist(), element_type)
        else:
            attributes[name] = _decode(name, values.tolist(), graph.strings)
    return attributes


def _literal(values: list[int], element_type: str) -> tuple[int, ...]:
    if element_type == "pred":
        return tuple(value != 0 for value in values)
    if element_type == "u64":
        return tuple(value % 2**64 for value in values)
    return tuple(values)


def _decode(name: str, values: list[int], strings: Sequence[str]) -> AttributeValue:
    if name in TEXT_ATTRIBUTES:
        return strings[values[0]]
    if name in _FLAGS:
        return values[0] != 0
    if name in _NUMBERS:
        return values[0]
    if name in _RECORDS:
        record = _RECORDS[name]
        size = len(record._fields)
        return tuple(record(*values[i : i + size]) for i in range(0, len(values), size))
    return tuple(values)


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
