"""Saved graphs: one compact file, or JSON.

A file is ``MAGIC``, the format's version (uint32, little endian), and one zstd frame with a
checksum. The frame holds the length of a header (uint64), the header (JSON: the vocabularies
that ids refer to, the strings, and the columns with type and shape) and the columns, each from
an offset that is a multiple of 8, little endian.
"""

from __future__ import annotations

import json
import os
import struct
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from hlograph.errors import HloError
from hlograph.graph import HloGraph
from hlograph.graph_columns import COLUMNS, VOCABULARIES, Columns, check, translate

MAGIC = b"HLOGRAPH"
VERSION = 1
_FORMAT = "hlograph.HloGraph"
_LEVEL = 9
_ALIGNMENT = 8
# What reading a damaged header, or lists that are none, may raise.
_DAMAGE = (AttributeError, LookupError, MemoryError, OverflowError, TypeError, ValueError)


def save(graph: HloGraph, path: str | os.PathLike[str]) -> None:
    """Writes a graph to a file, replacing one that is there at once and as a whole.

    Args:
        graph: The graph.
        path: The file; its directory exists.

    Raises:
        OSError: It cannot be written.
    """
    header = {
        "vocabularies": VOCABULARIES,
        "strings": graph.strings,
        "columns": [[name, getattr(graph, name).shape] for name in COLUMNS],
    }
    encoded = json.dumps(header, separators=(",", ":")).encode()
    body = bytearray(struct.pack("<Q", len(encoded)) + encoded)
    for name, column in COLUMNS.items():
        body.extend(bytes(-len(body) % _ALIGNMENT))
        body.extend(getattr(graph, name).astype(f"<{column.dtype}", copy=False).tobytes())
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    data = MAGIC + struct.pack("<I", VERSION) + compressor.compress(bytes(body))
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def load(path: str | os.PathLike[str]) -> HloGraph:
    """Reads a file that ``save`` wrote.

    Raises:
        FileNotFoundError: There is no such file.
        HloError: The file is something else, of a later version, or damaged.
    """
    data = Path(path).read_bytes()
    if not data.startswith(MAGIC) or len(data) < len(MAGIC) + 4:
        raise HloError(
            f"{path} is not a saved HloGraph: it starts with {data[:8]!r}, not {MAGIC!r}. "
            "To read an HLO module, use hlograph.parse"
        )
    _check_version(str(path), struct.unpack_from("<I", data, len(MAGIC))[0])
    try:
        frame = memoryview(data)[len(MAGIC) + 4 :]
        # A bytearray, so that the arrays over it can be written to, as torch wants them.
        body = bytearray(zstandard.ZstdDecompressor().decompress(frame))
        header, columns = _read_body(body)
        return _graph(columns, header["vocabularies"], header["strings"])
    except HloError as error:
        raise HloError(f"{path}: {error}") from error
    except (*_DAMAGE, zstandard.ZstdError, struct.error) as error:
        raise HloError(
            f"{path} is a damaged HloGraph file ({len(data)} bytes): {error}. Write it again"
        ) from error


def _read_body(body: bytearray) -> tuple[dict[str, Any], Columns]:
    (length,) = struct.unpack_from("<Q", body)
    header = json.loads(body[8 : 8 + length])
    shapes = dict(header["columns"])
    offset = 8 + length
    columns: Columns = {}
    for name, column in COLUMNS.items():
        offset += -offset % _ALIGNMENT
        dtype = np.dtype(f"<{column.dtype}")
        shape = tuple(shapes[name])
        values = np.frombuffer(body, dtype, count=int(np.prod(shape)), offset=offset)
        columns[name] = values.reshape(shape)
        offset += values.nbytes
    return header, columns


def to_json(graph: HloGraph) -> str:
    """Returns a graph as JSON: its columns, and the vocabularies that ids are indices in.

    ``attribute_values`` has integers of up to 64 bits, which JavaScript would round. ``names``
    stands for the columns ``name_offsets`` and ``name_text``.
    """
    columns = {name: getattr(graph, name) for name in COLUMNS if not name.startswith("name_")}
    document = {
        "format": _FORMAT,
        "version": VERSION,
        "vocabularies": VOCABULARIES,
        "columns": {name: values.tolist() for name, values in columns.items()},
        "strings": graph.strings,
        "names": [graph.name(node) for node in range(graph.num_nodes)],
    }
    return json.dumps(document, separators=(",", ":"))


def from_json(text: str) -> HloGraph:
    """Reads what ``to_json`` wrote.

    Raises:
        HloError: The text is something else, or its columns do not fit together.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise HloError(f"expected a graph as JSON, got text that is not JSON: {error}") from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise HloError(f'expected JSON with "format": "{_FORMAT}", as HloGraph.to_json writes it')
    _check_version("the JSON", document.get("version"))
    try:
        columns = _columns_from_lists(document["columns"], document["names"])
        return _graph(columns, document["vocabularies"], document["strings"])
    except _DAMAGE as error:
        raise HloError(f"the JSON of a graph is damaged: {error!r}. Write it again") from error


def _columns_from_lists(lists: dict[str, Any], names: list[str]) -> Columns:
    encoded = [name.encode() for name in names]
    name_offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    name_text = np.frombuffer(bytearray(b"".join(encoded)), np.uint8)
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


def _check_version(source: str, version: object) -> None:
    if version != VERSION:
        raise HloError(
            f"{source} has format version {version}, and this hlograph reads version {VERSION}. "
            "Use the hlograph that wrote it, or one that is newer"
        )


def _graph(columns: Columns, vocabularies: dict[str, list[str]], strings: list[str]) -> HloGraph:
    columns = translate(columns, vocabularies)
    if not all(isinstance(string, str) for string in strings):
        raise HloError("a string of the graph is no text")
    check(columns, strings)
    return HloGraph(**columns, strings=tuple(strings))  # pyright: ignore[reportArgumentType]
