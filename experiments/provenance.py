"""What a result was made with: settings, command, versions, commit."""

import os
import platform
import subprocess
import sys
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
