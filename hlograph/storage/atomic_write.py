"""Atomic writes: a file is either unchanged or complete, whenever the program ends."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Writes a file under a temporary name in the same folder and renames it when complete.

    Args:
        path: The file; its folder is made if it is missing.
        write: Function that writes the whole file to the path that it is passed.

    Raises:
        OSError: The file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        write(unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_bytes_atomically(path: Path, data: bytes) -> None:
    """Writes bytes as `write_atomically` does."""
    write_atomically(path, lambda target: target.write_bytes(data))


def write_text_atomically(path: Path, text: str) -> None:
    """Writes a text file, in UTF-8, as `write_atomically` does."""
    write_bytes_atomically(path, text.encode())
