"""Export of graphs to JSON for other tools and languages, and the way back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hlograph.errors import HloError
from hlograph.graph.columns import COLUMNS, VOCABULARIES, Columns
from hlograph.graph.file import DAMAGE, VERSION, check_version, checked_columns

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
