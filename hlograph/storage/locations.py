"""Locations of files: paths on this machine, or URLs.

URLs are those of fsspec: ``s3://bucket/name``, ``gs://``, ``https://``, ``memory://``; also
chained, such as ``filecache::s3://bucket/name``, which keeps a copy on this machine. The package of
a protocol (s3fs, gcsfs) is installed beside fsspec and finds credentials in its usual way.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from hlograph.errors import HloError
from hlograph.storage.atomic_write import write_bytes_atomically

Location: TypeAlias = "Path | str"
"""A path, or a URL as a str (a Path would drop one of its slashes)."""

_PROTOCOL = r"[a-z][a-z0-9+.\-]+"
_URL = re.compile(rf"{_PROTOCOL}(::{_PROTOCOL})*://", re.IGNORECASE)


class LocationError(HloError, OSError):
    """Raised when a URL cannot be read or written."""


def is_url(text: object) -> bool:
    """Returns True for a str that begins like a URL."""
    return isinstance(text, str) and _URL.match(text) is not None


def as_location(given: str | os.PathLike[str]) -> Location:
    """Returns a URL as it is, and anything else as a path."""
    return given if isinstance(given, str) and is_url(given) else Path(given)


def absolute(location: Location) -> Location:
    """Returns the absolute path of a path; a URL is returned as it is."""
    return location if isinstance(location, str) else location.absolute()


def join(folder: Location, name: str) -> Location:
    """Returns the location of a file in a folder or below it.

    Args:
        folder: The folder.
        name: Path of the file from there, with slashes.
    """
    if isinstance(folder, Path):
        return folder / name
    # In a chain the first part that has a path is read: zip://folder::s3://archive.
    parts = folder.split("::")
    first = next(number for number, part in enumerate(parts) if "://" in part)
    parts[first] = f"{parts[first].rstrip('/')}/{name}"
    return "::".join(parts)


def read_bytes(location: Location) -> bytes:
    """Returns the content of a file.

    Raises:
        FileNotFoundError: There is no such file.
        OSError: The file cannot be read; for a URL this is a ``LocationError`` with the cause.
    """
    if isinstance(location, Path):
        return location.read_bytes()
    filesystem, path = _opened(location)
    try:
        return filesystem.cat_file(path)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"there is nothing at {location}") from error
    except Exception as error:  # each protocol has exceptions of its own
        raise _unreadable(location, error) from error


def write_bytes(location: Location, data: bytes) -> None:
    """Writes a file; its folder is made if it is missing.

    A file of this machine is replaced at once, when it is complete. A URL is written as its
    protocol does.

    Raises:
        OSError: The file cannot be written; for a URL this is a ``LocationError`` with the cause.
    """
    if isinstance(location, Path):
        write_bytes_atomically(location, data)
        return
    filesystem, path = _opened(location)
    try:
        filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
        filesystem.pipe_file(path, data)
    except Exception as error:  # see above
        raise LocationError(f"cannot write {location}: {type(error).__name__}: {error}") from error


def is_file(location: Location) -> bool:
    """Returns True if there is a file at the location.

    Raises:
        LocationError: The location is a URL that cannot be read.
    """
    if isinstance(location, Path):
        return location.is_file()
    filesystem, path = _opened(location)
    try:
        return filesystem.isfile(path)
    except Exception as error:  # see above
        raise _unreadable(location, error) from error


def files_below(folder: Location) -> Iterator[tuple[Location, str]]:
    """Yields the files in a folder and its subfolders, in the order of their paths.

    Yields:
        The location of each file, and its path relative to the folder, with slashes.

    Raises:
        LocationError: The folder is a URL that cannot be read.
    """
    if isinstance(folder, Path):
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            yield path, path.relative_to(folder).as_posix()
        return
    filesystem, base = _opened(folder)
    try:
        paths = sorted(filesystem.find(base))
    except Exception as error:  # see above
        raise _unreadable(folder, error) from error
    for path in paths:
        name = path[len(base.rstrip("/")) :].lstrip("/")
        yield join(folder, name), name


def _opened(url: str) -> tuple[Any, str]:
    """Returns the file system of a URL, and the path on it."""
    from fsspec.core import url_to_fs

    try:
        return url_to_fs(url)
    except Exception as error:  # an unknown protocol, one that is not installed, bad settings
        raise _unreadable(url, error) from error


def _unreadable(url: str, error: Exception) -> LocationError:
    return LocationError(f"cannot read {url}: {type(error).__name__}: {error}")


def cache_folder() -> Path:
    """Returns ``$HLOGRAPH_CACHE``, or else ``~/.cache/hlograph``; it need not exist."""
    if given := os.environ.get("HLOGRAPH_CACHE"):
        return Path(given)
    return Path.home() / ".cache" / "hlograph"


def cache_bytes() -> int:
    """Returns the bytes that each folder of the cache may take; ``$HLOGRAPH_CACHE_MB`` or 512.

    Raises:
        HloError: The variable is no number.
    """
    given = os.environ.get("HLOGRAPH_CACHE_MB", "512")
    try:
        return int(float(given) * 1e6)
    except (ValueError, OverflowError) as error:
        raise HloError(f"expected a number of MB in HLOGRAPH_CACHE_MB, got {given!r}") from error


def folder_size(folder: Path, endings: tuple[str, ...]) -> int:
    """Returns the bytes of the files of a folder whose names have one of some endings."""
    return sum(size for _, size, _ in _files(folder, endings))


def remove_oldest(folder: Path, most_bytes: int, endings: tuple[str, ...]) -> None:
    """Removes the files of a folder that were written first, until the others fit.

    Files with other endings are left alone, and not counted: a store may be in a folder of the
    user's.

    Files that another process removes meanwhile, or that cannot be removed, are passed over.

    Args:
        folder: The folder.
        most_bytes: Bytes that its files may take.
        endings: Endings of the names of files that may go.
    """
    files = _files(folder, endings)
    excess = sum(size for _, size, _ in files) - most_bytes
    for _, size, path in sorted(files):
        if excess <= 0:
            return
        with contextlib.suppress(OSError):
            path.unlink()
            excess -= size


def _files(folder: Path, endings: tuple[str, ...]) -> list[tuple[float, int, Path]]:
    """Returns the time of the last change, the bytes and the path of each file of a folder."""
    files = []
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            with contextlib.suppress(OSError):
                status = path.stat()
                if path.name.endswith(endings) and path.is_file():
                    files.append((status.st_mtime, status.st_size, path))
    return files
