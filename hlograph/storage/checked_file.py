"""Files that say what they are, and notice when they are not what was written.

A header line names the kind, the version and the SHA-256 of the rest::

    hlograph checkpoint 2 sha256:9f86d0... 4096
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from hlograph.errors import DamagedFileError
from hlograph.storage.atomic_write import write_bytes_atomically
from hlograph.storage.locations import Location, read_bytes

_MAGIC = b"hlograph"


def write_checked(path: Path, kind: str, version: int, data: bytes) -> None:
    """Writes bytes under a header, atomically.

    Args:
        path: The file.
        kind: What it holds, one word.
        version: Version of the format of the data.
        data: The rest of the file.

    Raises:
        OSError: The file cannot be written; what was there before is unchanged.
    """
    digest = hashlib.sha256(data).hexdigest()
    header = f"{_MAGIC.decode()} {kind} {version} sha256:{digest} {len(data)}\n"
    write_bytes_atomically(path, header.encode() + data)


def read_checked(path: Location, kind: str, version: int) -> bytes:
    """Reads what ``write_checked`` wrote.

    Raises:
        DamagedFileError: The file is of another kind or version, cut off, or altered.
        OSError: The file cannot be read.
    """
    content = read_bytes(path)
    header, found, data = content.partition(b"\n")
    words = header.split(b" ")
    if not found or len(words) != 5 or words[0] != _MAGIC:
        raise DamagedFileError(f"{path} is no {kind} of hlograph; it begins with {content[:16]!r}")
    if words[1].decode("utf-8", "replace") != kind:
        raise DamagedFileError(f"expected a {kind}, and {path} is a {words[1]!r}")
    if words[2] != str(version).encode():
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
    """Writes a JSON object, atomically, with kind, version and checksum as its first keys.

    Raises:
        OSError: The file cannot be written; what was there before is unchanged.
    """
    header = {"kind": f"hlograph {kind}", "version": version, "sha256": _digest(content)}
    text = json.dumps(header | content, indent=1) + "\n"
    write_bytes_atomically(path, text.encode())


def read_checked_json(path: Location, kind: str, version: int) -> dict[str, Any]:
    """Reads what ``write_checked_json`` wrote, without the keys that it added.

    Raises:
        DamagedFileError: The file is of another kind or version, cut off, or altered.
        OSError: The file cannot be read.
    """
    try:
        content = json.loads(read_bytes(path))
        found = (content.pop("kind"), content.pop("version"))
        digest = content.pop("sha256")
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise DamagedFileError(f"{path} is no {kind} of hlograph, or cut off: {error!r}") from error
    if found != (f"hlograph {kind}", version):
        raise DamagedFileError(
            f"expected version {version} of an hlograph {kind}, and {path} is {found}. Use the "
            "hlograph that wrote it"
        )
    if digest != _digest(content):
        raise DamagedFileError(f"{path} was altered: its checksum is not that of its content")
    return content


def _digest(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
