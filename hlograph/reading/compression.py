"""Compression with gzip and zstd, and decompression up to a size limit."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from typing import TypeAlias

from hlograph.errors import HloParseError

_NextPart: TypeAlias = Callable[[bytes, int], tuple[bytes, bytes]]

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
# Compressed bytes that are decompressed at a time; they expand to at most 128 MiB.
_ZSTD_STEP = 4096

MAX_BYTES = 2**31 - 1
"""Largest content of a source, also after decompression.

XLA's lexer matches with RE2, and protos are read by protobuf; neither takes more."""


def uncompressed(name: str) -> str:
    """Returns the name of a file without the ending of compressed data."""
    return name.removesuffix(".gz").removesuffix(".zst")


def compress(data: bytes, name: str) -> bytes:
    """Returns the content of a file, compressed as the ending of its name says."""
    if name.endswith(".gz"):
        return gzip.compress(data, mtime=0)
    if not name.endswith(".zst"):
        return data
    import zstandard

    return zstandard.compress(data)


def decompress(data: bytes, name: str) -> bytes:
    """Returns decompressed data; data that is neither gzip nor zstd is returned as it is.

    Args:
        data: The data.
        name: Name of the source for error messages.

    Raises:
        HloParseError: The compressed data is cut off, damaged, or larger than ``MAX_BYTES``.
    """
    try:
        if data.startswith(_GZIP):
            return _all_parts(data, name, _gzip_part)
        if data.startswith(_ZSTD):
            return _all_parts(data, name, _zstd_part)
    except (EOFError, zlib.error) as error:
        raise HloParseError(
            f"{name} is compressed data that is cut off or damaged ({len(data)} bytes): {error}"
        ) from error
    return data


def _all_parts(data: bytes, name: str, next_part: _NextPart) -> bytes:
    """Decompresses concatenated parts until their total size exceeds the limit."""
    parts = []
    allowed = MAX_BYTES
    while data:
        part, data = next_part(data, allowed)
        allowed -= len(part)
        if allowed < 0:
            raise HloParseError(f"{name} is compressed data of more than {MAX_BYTES} bytes")
        parts.append(part)
    return b"".join(parts)


def _gzip_part(data: bytes, limit: int) -> tuple[bytes, bytes]:
    """Returns the content of the first gzip member, and the data after it."""
    member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    part = member.decompress(data, limit + 1)
    if not member.eof and len(part) <= limit:
        raise EOFError("the last gzip member does not end")
    return part, member.unused_data


def _zstd_part(data: bytes, limit: int) -> tuple[bytes, bytes]:
    """Returns the content of the first zstd frame, and the data after it."""
    import zstandard

    # The decompressor has no size limit, so it gets the data in small steps.
    frame = zstandard.ZstdDecompressor().decompressobj()
    parts = []
    size = 0
    for start in range(0, len(data), _ZSTD_STEP):
        end = start + _ZSTD_STEP
        try:
            parts.append(frame.decompress(data[start:end]))
        except zstandard.ZstdError as error:
            raise EOFError(str(error)) from error
        size += len(parts[-1])
        if frame.eof or size > limit:
            return b"".join(parts), frame.unused_data + data[end:]
    raise EOFError("the last zstd frame does not end")
