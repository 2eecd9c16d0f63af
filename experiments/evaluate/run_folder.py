"""Conventions of programs: the folder of a run, with one process at work in it; exit statuses."""

import fcntl
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import tyro

from hlograph.errors import HloError
from hlograph.execution.interrupts import INTERRUPTED
from hlograph.storage.atomic_write import write_bytes_atomically, write_text_atomically
from hlograph.storage.locations import files_below, join, read_bytes

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Settings = TypeVar("Settings")
REFUSED, FAILED = 2, 3
"""Exit statuses: not begun; ended early, to be continued. ``INTERRUPTED`` is that of Ctrl-C."""
CONFIG = "config.json"
"""File of the run's settings."""
CONFIG_KIND, CONFIG_VERSION = "run settings", 2
LOCK = ".lock"
_MADE = "made.json"


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


def run_program(
    program: Callable[[Settings], int],
    settings: type[Settings],
    name: str,
    description: str | None,
    arguments: Sequence[str] | None,
) -> int:
    """Parses a command line and runs a program with its settings.

    Args:
        program: Runs with the settings, and returns the exit status.
        settings: Dataclass of the settings.
        name: Name of the module to run.
        description: Text of `--help`.
        arguments: The command line; None is that of this process.

    Returns:
        Exit status: 2 if the program refuses the settings, 130 after Ctrl-C.
    """
    config = tyro.cli(settings, args=arguments, prog=f"python -m {name}", description=description)
    try:
        return program(config)
    except KeyboardInterrupt:
        print("\nInterrupted; what was written so far is kept", file=sys.stderr)
        return INTERRUPTED
    except (HloError, RunFolderError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return REFUSED


def run_in_folder(name: str, out: Path | None, work: Callable[[Path], list[str]]) -> int:
    """Works in the folder of a run, and prints what came of it.

    Args:
        name: First part of the folder's name under runs/, without ``out``.
        out: The folder.
        work: Works in the folder, and returns the findings, one sentence each.

    Returns:
        Exit status: 2 if the run is refused, 130 after Ctrl-C.
    """
    folder = out or Path("runs") / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    try:
        with run_folder(folder):
            findings = work(folder)
    except KeyboardInterrupt:
        print(f"\nInterrupted; go on with --out {folder}", file=sys.stderr)
        return INTERRUPTED
    except (HloError, RunFolderError, OSError) as error:
        print(error, file=sys.stderr)
        return REFUSED
    print("\n".join(findings))
    print(f"all results are in {folder}")
    return 0


def save_provenance(config: "DataclassInstance", folder: Path) -> None:
    """Writes the settings, versions, commit and machine of a run beside its results.

    Those of the starts before, of a run that goes on, are kept as ``before``.
    """
    from hlograph.storage.machine import machine
    from hlograph.storage.provenance import provenance

    made = provenance() | {"settings": {k: str(v) for k, v in asdict(config).items()}}
    made |= {"machine": machine().to_json()}
    path = folder / _MADE
    if path.exists():
        last = json.loads(path.read_text())
        made["before"] = [*last.pop("before", []), last]
    write_text_atomically(path, json.dumps(made, indent=2) + "\n")


def published_provenance(folder: Path) -> dict[str, Any]:
    """Returns what ``save_provenance`` wrote, without the path of the folder on this machine."""
    made = json.loads((folder / _MADE).read_text())
    before = made.pop("before", [])
    published = _without_path(made, folder)
    return published | ({"before": [_without_path(s, folder) for s in before]} if before else {})


def _without_path(made: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    # The folder may have been recorded by another path than it has now.
    recorded, text = made.get("settings", {}).get("out", "None"), json.dumps(made)
    for path in sorted({str(folder), recorded} - {"None"}, key=len, reverse=True):
        text = text.replace(path, folder.name)
    return json.loads(text)
