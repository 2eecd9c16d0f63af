"""Atomic writes: a file is either unchanged or complete, whenever the program ends."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path


def write_atomically(
    path: Path, write: Callable[[Path], object], *, make_folder: bool = True
) -> None:
    """Writes a file under a temporary name in the same folder and renames it when complete.

    Args:
        path: The file.
        write: Function that writes the whole file to the path that it is passed.
        make_folder: True creates the file's folder if it is missing.

    Raises:
        OSError: The file cannot be written.
    """
    if make_folder:
        path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        write(unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_bytes_atomically(path: Path, data: bytes, *, make_folder: bool = True) -> None:
    """Writes bytes as `write_atomically` does."""
    write_atomically(path, lambda target: target.write_bytes(data), make_folder=make_folder)


def write_text_atomically(path: Path, text: str) -> None:
    """Writes a text file, in UTF-8, as `write_atomically` does."""
    write_bytes_atomically(path, text.encode())
