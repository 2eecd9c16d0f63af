"""Files of values with arrays of numpy: arrays, and a header that says what they are.

A file is checked (``hlograph.storage.checked_file``) and holds what ``numpy.savez_compressed``
writes: each array by its name, such as ``seconds.threshold``, and as ``header`` the other
values as JSON.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hlograph.errors import DamagedFileError
from hlograph.storage.checked_file import read_checked, write_checked

_HEADER = "header"
# Errors that another content raises.
_DAMAGE = (LookupError, TypeError, ValueError, zipfile.BadZipFile)


def write_arrays(path: Path, kind: str, version: int, value: Any) -> None:
    """Writes a dataclass, or another value, of JSON and arrays.

    Args:
        path: The file.
        kind: Kind of the content, one word.
        version: Version of its form.
        value: The value; dataclasses and named tuples in it become objects, tuples lists.

    Raises:
        OSError: It cannot be written.
    """
    arrays: dict[str, NDArray[Any]] = {}
    header = json.dumps(_without_arrays(value, "", arrays)).encode()
    arrays[_HEADER] = np.frombuffer(header, np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # pyright: ignore[reportArgumentType]
    write_checked(path, kind, version, buffer.getvalue())


@contextmanager
def read_arrays(path: Path, kind: str, version: int) -> Iterator[dict[str, Any]]:
    """Yields the object that ``write_arrays`` wrote, with arrays in their places.

    What the block raises as it takes the object for another one, such as a KeyError, becomes a
    DamagedFileError.

    Args:
        path: The file.
        kind: Kind of the content.
        version: Version of its form.

    Raises:
        DamagedFileError: The file is another one, of another version, or damaged.
        OSError: It cannot be read.
    """
    data = read_checked(path, kind, version)
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            content = _with_arrays(json.loads(arrays[_HEADER].tobytes()), "", arrays)
        yield content
    except _DAMAGE as error:
        words = kind.replace("-", " ")
        raise DamagedFileError(f"{path} holds no {words}: {error!r}") from error


def _without_arrays(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """Returns a value as JSON with null for each array, and adds the arrays by their names."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return None
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: _without_arrays(of, _join(name, key), arrays) for key, of in value.items()}
    if isinstance(value, list | tuple):
        return [_without_arrays(of, _join(name, key), arrays) for key, of in enumerate(value)]
    return value


def _with_arrays(value: Any, name: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Returns what ``_without_arrays`` returned with the arrays in their places."""
    if value is None:
        return arrays[name]
    if isinstance(value, dict):
        return {key: _with_arrays(of, _join(name, key), arrays) for key, of in value.items()}
    if isinstance(value, list):
        return [_with_arrays(of, _join(name, key), arrays) for key, of in enumerate(value)]
    return value


def _join(name: str, key: object) -> str:
    return f"{name}.{key}" if name else str(key)
