"""Provenance of a result: command, settings, versions and commit."""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Collection
from dataclasses import fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = (
    *("jax", "jaxlib", "numpy", "tensorflow-cpu"),
    *("torch", "torch-geometric", "gymnasium"),
)


def provenance() -> dict[str, Any]:
    """Returns where, when and with which versions this process runs, as a JSON object.

    Returns:
        A dict with the keys ``time`` (UTC, ISO 8601), ``command`` (with paths relative to the
        working directory where they are in it), ``commit`` (see ``git_commit``), ``python``,
        ``platform``, ``cpus`` and ``versions`` (by package; None for one that is not installed).
    """
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["python", *map(_relative, sys.orig_argv[1:])]),
        "commit": git_commit(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "versions": {package: _version(package) for package in _PACKAGES},
    }


def _relative(argument: str) -> str:
    """Returns an argument of a command line that means the same in another checkout, too."""
    return re.sub(rf"(^|=){re.escape(str(Path.cwd()))}{os.sep}", r"\1", argument)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def git_commit() -> str | None:
    """Returns the commit of the checkout, with ``+changes`` if tracked files were changed.

    The checkout is the one that this file belongs to. If hlograph is installed outside of a
    checkout, it is the one that contains the working directory.

    Returns:
        The commit; None outside of a checkout and without git.
    """
    for folder in (Path(__file__).parent, Path.cwd()):
        try:
            changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
            return _git(folder, "rev-parse", "HEAD") + ("+changes" if changes else "")
        except (OSError, subprocess.CalledProcessError):
            continue
    return None


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def flags_of(settings: Any, without: Collection[str]) -> list[str]:
    """Returns the command-line flags that reproduce these settings.

    Args:
        settings: A dataclass. Fields with their default value need no flag.
        without: Names of fields that do not affect results.

    Returns:
        One string for each flag, such as ``"--max-steps 30"``.
    """
    flags = []
    for setting in fields(settings):
        value = getattr(settings, setting.name)
        if setting.name in without or value == setting.default:
            continue
        values = value if isinstance(value, tuple) else (value,)
        flags.append(f"--{setting.name.replace('_', '-')} {' '.join(map(str, values))}")
    return flags
