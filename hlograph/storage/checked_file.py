"""Files with a kind, a version and a checksum.

A header line has the kind, the version of the format, the SHA-256 of the data and their size::

    hlograph checkpoint 2 sha256:9f86d0... 4096
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

from hlograph.errors import DamagedFileError
from hlograph.storage.atomic_write import write_bytes_atomically
from hlograph.storage.locations import Location, read_bytes

_MAGIC = b"hlograph"
_GZIP_MAGIC = b"\x1f\x8b"


def write_checked(path: Path, kind: str, version: int, data: bytes) -> None:
    """Writes bytes under a header, atomically.

    Args:
        path: The file.
        kind: Kind of the content, one word.
        version: Version of the data's format.
        data: The data.

    Raises:
        OSError: The file cannot be written; an existing file is unchanged.
    """
    digest = hashlib.sha256(data).hexdigest()
    header = f"{_MAGIC.decode()} {kind} {version} sha256:{digest} {len(data)}\n"
    write_bytes_atomically(path, header.encode() + data)


def read_checked(path: Location, kind: str, version: int, *former: int) -> bytes:
    """Reads a file that ``write_checked`` wrote.

    Args:
        path: The file.
        kind: Kind of the content.
        version: Version of the data's format.
        former: Earlier versions that are read, too.

    Returns:
        The data after the header.

    Raises:
        DamagedFileError: The file is of another kind or version, truncated, or altered.
        OSError: The file cannot be read.
    """
    content = read_bytes(path)
    header, newline, data = content.partition(b"\n")
    words = header.split(b" ")
    if not newline or len(words) != 5 or words[0] != _MAGIC:
        raise DamagedFileError(f"{path} is no {kind} of hlograph; it begins with {content[:16]!r}")
    if words[1].decode("utf-8", "replace") != kind:
        raise DamagedFileError(f"expected a {kind}, and {path} is a {words[1]!r}")
    if words[2] not in [str(number).encode() for number in (version, *former)]:
        raise DamagedFileError(
            f"{path} has version {words[2]!r} of the {kind} format, and this hlograph reads "
            f"version {version}. Use the hlograph that wrote it"
        )
    _check(path, data, words[4], words[3])
    return data


def _check(path: Location, data: bytes, length: bytes, digest: bytes) -> None:
    if length != str(len(data)).encode():
        raise DamagedFileError(
            f"{path} is cut off or longer than written: {len(data)} bytes of data where the "
            f"header says {length.decode('utf-8', 'replace')}"
        )
    if digest != b"sha256:" + hashlib.sha256(data).hexdigest().encode():
        raise DamagedFileError(f"{path} was altered: its checksum is not the header's")


def write_checked_json(path: Path, kind: str, version: int, content: dict[str, Any]) -> None:
    """Writes a JSON object atomically, with kind, version and checksum as its first keys.

    Raises:
        OSError: The file cannot be written; an existing file is unchanged.
    """
    header = {"kind": f"hlograph {kind}", "version": version, "sha256": _digest(content)}
    text = json.dumps(header | content, indent=1) + "\n"
    write_bytes_atomically(path, text.encode())


def read_checked_json(path: Location, kind: str, version: int) -> dict[str, Any]:
    """Reads a file that ``write_checked_json`` wrote, without the keys that it added.

    A file that was compressed with gzip since then is read in the same way.

    Raises:
        DamagedFileError: The file is of another kind or version, truncated, or altered.
        OSError: The file cannot be read.
    """
    data = read_bytes(path)
    try:
        content = json.loads(gzip.decompress(data) if data.startswith(_GZIP_MAGIC) else data)
        header = (content.pop("kind"), content.pop("version"))
        digest = content.pop("sha256")
    except (
        ValueError,
        KeyError,
        AttributeError,
        TypeError,
        EOFError,
        OSError,
        zlib.error,
    ) as error:
        raise DamagedFileError(f"{path} is no {kind} of hlograph, or cut off: {error!r}") from error
    if header != (f"hlograph {kind}", version):
        raise DamagedFileError(
            f"expected version {version} of an hlograph {kind}, and {path} is {header}. Use the "
            "hlograph that wrote it"
        )
    if digest != _digest(content):
        raise DamagedFileError(f"{path} was altered: its checksum is not that of its content")
    return content


def _digest(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
