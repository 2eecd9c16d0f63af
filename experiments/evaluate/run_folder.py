"""The folder of one run, which one process at a time works in."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hlograph.storage.atomic_write import write_bytes_atomically
from hlograph.storage.locations import files_below, join, read_bytes

CONFIG = "config.json"
"""File of the run's settings."""
CONFIG_KIND, CONFIG_VERSION = "run settings", 2
LOCK = ".lock"


class RunFolderError(Exception):
    """Raised when a run cannot work in its folder; the message says why."""


def file_stem(name: str) -> str:
    """Returns the name of a program or method without slashes, as a part of a file's name."""
    return name.replace("/", "--")


@contextmanager
def run_folder(folder: Path) -> Iterator[None]:
    """Makes a folder and locks it for this process until the block ends.

    The kernel releases the lock when the process ends, however it ends.

    Raises:
        RunFolderError: Another process holds it, or it cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("a+", encoding="utf-8")
    except OSError as error:
        raise RunFolderError(f"cannot write to {folder}: {error.strerror}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            raise RunFolderError(
                f"process {lock.read().strip() or '?'} is at work in {folder}: wait for it, or "
                "choose another folder with --out"
            ) from error
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        _remove_unfinished(folder)
        yield


def copy_run(url: str, folder: Path) -> None:
    """Copies the run at a URL into an empty folder. Its settings are copied last.

    Raises:
        RunFolderError: It cannot be read, or there is none.
    """
    try:
        names = {name for _, name in files_below(url)} - {CONFIG, LOCK}
        for name in (*sorted(names), CONFIG):
            if ".." in name.split("/"):
                raise RunFolderError(f"the run at {url} has a file beyond it: {name}")
            write_bytes_atomically(folder / name, read_bytes(join(url, name)))
    except OSError as error:
        raise RunFolderError(f"the run at {url} cannot be copied to {folder}: {error}") from error


def _remove_unfinished(folder: Path) -> None:
    """Removes unfinished files of a killed process."""
    for path in folder.rglob(".*.tmp"):
        path.unlink(missing_ok=True)
