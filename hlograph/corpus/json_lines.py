"""The files of data sets of times: a JSON value in each line, compressed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import zstandard

from hlograph.corpus.shipped import root
from hlograph.errors import DamagedFileError, HloError
from hlograph.storage.atomic_write import write_bytes_atomically
from hlograph.storage.locations import Location, as_location, join, read_bytes

_KERNELS = "kernels"


def dump(contents: Sequence[Any]) -> bytes:
    """Returns JSON values as the bytes of a file of a data set."""
    text = "".join(f"{json.dumps(content, separators=(',', ':'))}\n" for content in contents)
    return zstandard.ZstdCompressor(level=19, write_checksum=True).compress(text.encode())


def load_lines(path: Location, what: str) -> list[Any]:
    """Returns the JSON values of a file that ``dump`` wrote.

    Args:
        path: The file.
        what: Words for what the data set has, in errors.

    Raises:
        HloError: There is no such file.
        DamagedFileError: It is damaged.
    """
    try:
        data = read_bytes(path)
    except FileNotFoundError as error:
        raise HloError(f"no data set of {what}: expected {path}") from error
    try:
        text = zstandard.ZstdDecompressor().decompress(data).decode()  # all of it, or an error
        return [json.loads(line) for line in text.splitlines()]
    except (zstandard.ZstdError, ValueError) as error:
        raise DamagedFileError(f"{path} is damaged: {error}") from error


def load_splits(
    name: str, folder: Location | None, splits: Sequence[str]
) -> tuple[list[str], Iterator[Any]]:
    """Returns the texts of the kernels of a data set, and the JSON values of some splits.

    Args:
        name: Name of its folder in the corpus, such as ``plan_times``.
        folder: Folder of the data set; None is that of the corpus.
        splits: The splits.

    Raises:
        HloError: There is no data set at its location.
        DamagedFileError: A file is damaged.
    """
    at, what = join(root(), name) if folder is None else as_location(folder), name.replace("_", " ")
    kernels = load_lines(join(at, f"{_KERNELS}.jsonl.zst"), what)
    lines = (load_lines(join(at, f"{split}.jsonl.zst"), what) for split in splits)
    return kernels, chain.from_iterable(lines)


def save_splits(folder: Path, kernels: Sequence[str], splits: Mapping[str, Sequence[Any]]) -> int:
    """Writes what ``load_splits`` loads, and returns the bytes of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: dump(values) for name, values in {_KERNELS: kernels, **splits}.items()}
    for name, content in files.items():
        write_bytes_atomically(folder / f"{name}.jsonl.zst", content)
    return sum(map(len, files.values()))
