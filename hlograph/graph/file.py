"""The file format of saved graphs: one compact file for a graph.

A file is ``MAGIC``, the format's version (uint32, little endian), and one zstd frame with a
checksum. The frame holds the length of a header (uint64), the header (JSON: the vocabularies
that ids refer to, the strings, and the shapes of the columns) and the columns of ``COLUMNS``,
each from an offset that is a multiple of 8, little endian. Numbers that grow along a column are
stored as differences, which compress to half: offsets as the differences from one to the next,
targets of edges likewise, sources of edges as the distance to the target.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hlograph.errors import HloError
from hlograph.graph.columns import COLUMNS, VOCABULARIES, Columns, check, translate
from hlograph.storage.locations import as_location, read_bytes, write_bytes

if TYPE_CHECKING:
    from hlograph.graph.hlo_graph import HloGraph

MAGIC = b"HLOGRAPH"
VERSION = 1
_LEVEL = 9
_ALIGNMENT = 8
# Errors that reading a damaged header, or values that are not lists, may raise.
DAMAGE = (AttributeError, LookupError, MemoryError, OverflowError, TypeError, ValueError)


def save(graph: HloGraph, path: str | os.PathLike[str]) -> None:
    """Writes a graph to a file, and replaces an existing file atomically.

    Args:
        graph: The graph.
        path: A path, or a URL that fsspec writes. A missing folder is made.

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
        values = _differences(name, getattr(graph, name))
        body.extend(values.astype(f"<{column.dtype}", copy=False).tobytes())
    import zstandard  # takes time, and readers of modules need none of it

    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    data = MAGIC + struct.pack("<I", VERSION) + compressor.compress(bytes(body))
    write_bytes(as_location(path), data)


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads a file that ``save`` wrote.

    Returns:
        The arguments of ``HloGraph``: the columns and ``strings``.

    Raises:
        FileNotFoundError: There is no such file.
        HloError: The file is something else, of a later version, or damaged.
    """
    data = read_bytes(as_location(path))
    if not data.startswith(MAGIC) or len(data) < len(MAGIC) + 4:
        raise HloError(
            f"{path} is not a saved HloGraph: it starts with {data[:8]!r}, not {MAGIC!r}. "
            "To read an HLO module, use hlograph.parse"
        )
    check_version(str(path), struct.unpack_from("<I", data, len(MAGIC))[0])
    import zstandard

    try:
        frame = memoryview(data)[len(MAGIC) + 4 :]
        header, columns = _read_body(zstandard.ZstdDecompressor().decompress(frame))
        return checked_columns(columns, header["vocabularies"], header["strings"])
    except HloError as error:
        raise HloError(f"{path}: {error}") from error
    except (*DAMAGE, zstandard.ZstdError, struct.error) as error:
        raise HloError(
            f"{path} is a damaged HloGraph file ({len(data)} bytes): {error}. Write it again"
        ) from error


def _read_body(body: bytes) -> tuple[dict[str, Any], Columns]:
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
        columns[name] = _sums(name, values.reshape(shape))
        offset += values.nbytes
    return header, columns


def _differences(name: str, values: NDArray[Any]) -> NDArray[Any]:
    if COLUMNS[name].offsets_of is not None:
        return np.diff(values, prepend=0)
    if name == "edge_index":
        source, target = values
        return np.stack([target - source, np.diff(target, prepend=0)])
    return values


def _sums(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Inverts ``_differences``."""
    if COLUMNS[name].offsets_of is not None:
        return np.cumsum(values)
    if name == "edge_index":
        distance, difference = values
        target = np.cumsum(difference)
        return np.stack([target - distance, target])
    return values


def check_version(source: str, version: object) -> None:
    """Checks the version of the format.

    Raises:
        HloError: This version of hlograph does not read it.
    """
    if version != VERSION:
        raise HloError(
            f"{source} has format version {version}, and this hlograph reads version {VERSION}. "
            "Use the hlograph that wrote it, or one that is newer"
        )


def checked_columns(
    columns: Columns, vocabularies: Mapping[str, Sequence[str]], strings: Sequence[str]
) -> dict[str, Any]:
    """Checks columns from outside and translates them to the ids of this version.

    Returns:
        The arguments of ``HloGraph``: the columns and ``strings``.

    Raises:
        HloError: The columns are inconsistent, or have names that this version does not know.
    """
    columns = translate(columns, vocabularies)
    if not all(isinstance(string, str) for string in strings):
        raise HloError("expected strings of the graph to be text")
    check(columns, strings)
    return {**columns, "strings": tuple(strings)}
