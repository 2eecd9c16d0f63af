"""The files of data sets of times: a JSON value in each line, compressed."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import zstandard

from hlograph.errors import DamagedFileError, HloError
from hlograph.storage.locations import Location, read_bytes


def dump(contents: Sequence[Any]) -> bytes:
    """Returns JSON values as the bytes of a file of a data set."""
    text = "".join(f"{json.dumps(content, separators=(',', ':'))}\n" for content in contents)
    return zstandard.ZstdCompressor(level=19).compress(text.encode())


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
        with zstandard.ZstdDecompressor().stream_reader(data) as stream:
            return [json.loads(line) for line in io.TextIOWrapper(stream, "utf-8")]
    except (zstandard.ZstdError, ValueError) as error:
        raise DamagedFileError(f"{path} is damaged: {error}") from error
