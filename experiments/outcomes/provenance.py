"""What a result was made with: settings, command, versions, commit."""

import os
import platform
import subprocess
import sys
from collections.abc import Collection
from dataclasses import fields
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

_PACKAGES = ("torch", "torch-geometric", "numpy", "gymnasium", "tensorflow-cpu")


def provenance() -> dict[str, Any]:
    """Where and with what this process runs, as JSON."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(["python", *sys.orig_argv[1:]]),
        "commit": git_commit(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "versions": {package: version(package) for package in _PACKAGES},
    }


def git_commit() -> str | None:
    """Commit of the checkout, marked when it has changes; None outside a checkout."""
    folder = Path(__file__).parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + ("+changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def flags_of(settings: Any, without: Collection[str]) -> list[str]:
    """The flags of a command line that gives these settings.

    Args:
        settings: A dataclass; what is as by default needs no flag.
        without: Names of fields that decide on no result.
    """
    given = []
    for setting in fields(settings):
        value = getattr(settings, setting.name)
        if setting.name in without or value == setting.default:
            continue
        values = value if isinstance(value, tuple) else (value,)
        given.append(f"--{setting.name.replace('_', '-')} {' '.join(map(str, values))}")
    return given
