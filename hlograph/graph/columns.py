"""The columns of a graph: their types and sizes, and the check of columns read from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph.errors import HloError
from hlograph.graph.traits import TRAITS
from hlograph.graph.vocabulary import (
    ATTRIBUTES,
    EDGE_TYPES,
    ELEMENT_TYPES,
    NODE_TYPES,
    OPCODES,
    TEXT_ATTRIBUTES,
)

Columns = dict[str, NDArray[Any]]


class ColumnType(NamedTuple):
    """Type of a column.

    Attributes:
        dtype: The numpy type, little endian in files.
        offsets_of: Name of the column that an offsets column divides; None for other columns.
        same_length_as: Name of another column of the same length.
        vocabulary: Name of the vocabulary that the values are indices of; None for numbers.
    """

    dtype: str
    offsets_of: str | None = None
    same_length_as: str | None = None
    vocabulary: str | None = None


COLUMNS: dict[str, ColumnType] = {
    "node_type": ColumnType("u1", vocabulary="node_types"),
    "opcode": ColumnType("i2", same_length_as="node_type", vocabulary="opcodes"),
    "element_type": ColumnType("u1", same_length_as="node_type", vocabulary="element_types"),
    "elements": ColumnType("i8", same_length_as="node_type"),
    "bytes": ColumnType("i8", same_length_as="node_type"),
    "computation": ColumnType("i4", same_length_as="node_type"),
    "is_root": ColumnType("?", same_length_as="node_type"),
    "is_entry": ColumnType("?", same_length_as="node_type"),
    "traits": ColumnType("u4", same_length_as="node_type", vocabulary="traits"),
    "dim_offsets": ColumnType("i8", offsets_of="dim_size"),
    "dim_size": ColumnType("i8"),
    "dim_layout": ColumnType("i8", same_length_as="dim_size"),
    "dim_is_dynamic": ColumnType("?", same_length_as="dim_size"),
    "attribute_offsets": ColumnType("i8", offsets_of="attribute_key"),
    "attribute_key": ColumnType("u1", vocabulary="attributes"),
    "value_offsets": ColumnType("i8", offsets_of="attribute_values"),
    "attribute_values": ColumnType("i8"),
    "edge_index": ColumnType("i8"),
    "edge_type": ColumnType("u1", vocabulary="edge_types"),
    "edge_position": ColumnType("i4", same_length_as="edge_type"),
    "name_offsets": ColumnType("i8", offsets_of="name_text"),
    "name_text": ColumnType("u1"),
}
"""All columns in the order of files; ``HloGraph`` describes them."""

VOCABULARIES: dict[str, tuple[str, ...]] = {
    "node_types": NODE_TYPES,
    "opcodes": OPCODES,
    "element_types": ELEMENT_TYPES,
    "attributes": ATTRIBUTES,
    "edge_types": EDGE_TYPES,
    "traits": tuple(TRAITS),
}
"""The names that ids in a graph stand for in this version. Files have their own vocabularies."""


def translate(columns: Columns, vocabularies: Mapping[str, Sequence[str]]) -> Columns:
    """Translates ids that were written with other vocabularies.

    A file may be older than the linked XLA, and a newer XLA has new opcodes in between.

    Args:
        columns: The columns of a file.
        vocabularies: The names that its ids stand for; keys of ``VOCABULARIES``.

    Returns:
        The columns with the ids of this version.

    Raises:
        HloError: A name that the graph uses is not known in this version.
    """
    translated = dict(columns)
    for name, column in COLUMNS.items():
        if column.vocabulary is None:
            continue
        old = tuple(vocabularies[column.vocabulary])
        if old != VOCABULARIES[column.vocabulary]:
            translate_column = _translate_bits if name == "traits" else _translate_ids
            translated[name] = translate_column(columns[name], old, column.vocabulary)
    return translated


def _translate_ids(ids: NDArray[Any], old: tuple[str, ...], vocabulary: str) -> NDArray[Any]:
    new = {name: i for i, name in enumerate(VOCABULARIES[vocabulary])}
    # The additional last entry keeps the opcode -1 of computations.
    table = np.full(len(old) + 1, -1, dtype=np.int64)
    for i in np.unique(ids[ids < len(old)]).tolist():
        if i >= 0:
            table[i] = _known(new, old[i], vocabulary)
    return table[np.minimum(ids, len(old))].astype(ids.dtype)


def _translate_bits(bits: NDArray[Any], old: tuple[str, ...], vocabulary: str) -> NDArray[Any]:
    new = {name: i for i, name in enumerate(VOCABULARIES[vocabulary])}
    result = np.zeros_like(bits)
    for i, name in enumerate(old[:32]):
        has_trait = (bits >> np.uint32(i)) & np.uint32(1)
        if has_trait.any():
            result |= has_trait << np.uint32(_known(new, name, vocabulary))
    return result


def _known(new: Mapping[str, int], name: str, vocabulary: str) -> int:
    if name not in new:
        raise HloError(
            f"the saved graph uses {name!r} of {vocabulary}, which this version of hlograph does "
            "not know. Read it with the version that wrote it, or parse the HLO module again"
        )
    return new[name]


def check(columns: Columns, strings: Sequence[str]) -> None:
    """Checks that columns from outside are consistent, so that no access is out of bounds.

    Args:
        columns: The columns by name, with the dtypes of ``COLUMNS``.
        strings: The texts that text attributes are indices of.

    Raises:
        HloError: The columns are inconsistent; names the column.
    """
    nodes, edges = len(columns["node_type"]), len(columns["edge_type"])
    _require(columns["edge_index"].shape == (2, edges), "edge_index is not [2, edges]")
    for name, column in COLUMNS.items():
        values = columns[name]
        if column.same_length_as is not None:
            other = column.same_length_as
            _require(len(values) == len(columns[other]), f"{name} is not as long as {other}")
        if column.offsets_of is not None:
            owners = len(columns["attribute_key"]) if name == "value_offsets" else nodes
            _require(len(values) == owners + 1, f"{name} has {len(values)} entries")
            _check_offsets(name, values, len(columns[column.offsets_of]))
    for name, low, high in _ranges(nodes):
        values = columns[name]
        in_range = values.size == 0 or (values.min() >= low and values.max() < high)
        _require(in_range, f"{name} has a value outside [{low}, {high})")
    _check_strings(columns, len(strings))


def _ranges(nodes: int) -> list[tuple[str, int, int]]:
    return [
        ("node_type", 0, len(NODE_TYPES)),
        ("opcode", -1, len(OPCODES)),
        ("element_type", 0, len(ELEMENT_TYPES)),
        ("computation", 0, nodes),
        ("attribute_key", 0, len(ATTRIBUTES)),
        ("edge_index", 0, nodes),
        ("edge_type", 0, len(EDGE_TYPES)),
        ("edge_position", 0, 2**31),
    ]


def _check_offsets(name: str, offsets: NDArray[Any], total: int) -> None:
    fits = offsets[0] == 0 and offsets[-1] == total and bool((np.diff(offsets) >= 0).all())
    _require(fits, f"{name} does not rise from 0 to {total}")


def _check_strings(columns: Columns, count: int) -> None:
    is_text = np.array([name in TEXT_ATTRIBUTES for name in ATTRIBUTES])[columns["attribute_key"]]
    starts = columns["value_offsets"][:-1][is_text]
    lengths = np.diff(columns["value_offsets"])[is_text]
    _require(bool((lengths == 1).all()), "a text attribute has not one value")
    indices = columns["attribute_values"][starts]
    in_range = indices.size == 0 or (indices.min() >= 0 and indices.max() < count)
    _require(in_range, f"a text attribute points outside the {count} strings")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise HloError(f"the columns of the graph do not fit together: {message}")
