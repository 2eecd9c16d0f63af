"""Files that are either as they were or complete, whenever the program ends."""

import os
from collections.abc import Callable
from pathlib import Path


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Writes a file under a temporary name beside it and renames it when it is complete.

    Args:
        path: The file; its folder is made if it is missing.
        write: Writes the whole file to the path it is given.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_text_atomically(path: Path, text: str) -> None:
    """Writes a text file as `write_atomically` does."""
    write_atomically(path, lambda target: target.write_text(text, encoding="utf-8"))
