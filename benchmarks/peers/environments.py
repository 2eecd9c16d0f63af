"""Makes a virtual environment and a lock for each peer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hlograph.errors import HloError
from hlograph.storage.atomic_write import write_text_atomically

LOCK = "requirements.lock"
"""File in an environment's folder with the version of each package; it is written last."""

_SECONDS = 1800.0
_ERROR_SHOWN = 300


class PeerUnavailableError(HloError):
    """Raised when a peer cannot be run here; the message says why."""


@dataclass(frozen=True)
class PeerEnvironment:
    """Packages of a peer, in a virtual environment of its own.

    Attributes:
        name: Name of its folder.
        requirements: What pip installs, with versions; none takes the environment of this process.
    """

    name: str
    requirements: tuple[str, ...] = ()

    def python(self, root: Path) -> str:
        """Returns the interpreter, of an environment that is made if it is not there.

        Args:
            root: Folder of all environments.

        Raises:
            PeerUnavailableError: The packages cannot be installed.
        """
        if not self.requirements:
            return sys.executable
        folder = root / self.name
        python = folder / "bin" / "python"
        wanted = folder / "requirements.txt"
        text = "".join(f"{requirement}\n" for requirement in self.requirements)
        made = (folder / LOCK).is_file() and wanted.is_file()
        if made and wanted.read_text(encoding="utf-8") == text:
            return str(python)
        shutil.rmtree(folder, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(folder)], self.name)
        write_text_atomically(wanted, text)
        _run([str(python), "-m", "pip", "install", "--quiet", "-r", str(wanted)], self.name)
        lock = _run([str(python), "-m", "pip", "freeze"], self.name)
        write_text_atomically(folder / LOCK, lock)
        return str(python)

    def lock(self, root: Path) -> str:
        """Returns the version of each package, one a line; empty for this process' environment."""
        file = root / self.name / LOCK
        return file.read_text(encoding="utf-8") if self.requirements and file.is_file() else ""

    def versions(self, root: Path) -> dict[str, str]:
        """Returns the installed versions of the packages that were asked for, by name.

        Args:
            root: Folder of all environments.
        """
        wanted = {requirement.partition("==")[0] for requirement in self.requirements}
        lines = self.lock(root).replace("_", "-").splitlines()
        pairs = (line.partition("==") for line in lines)
        return {name: version for name, _, version in pairs if name in wanted}


def _run(command: Sequence[str], name: str) -> str:
    """Returns the output of a command that makes an environment.

    Raises:
        PeerUnavailableError: It fails.
    """
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=_SECONDS, env=environment
        )
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stderr.splitlines() if line.startswith("ERROR")]
        reason = (lines or error.stderr.strip().splitlines() or [str(error)])[0][:_ERROR_SHOWN]
        raise PeerUnavailableError(f"no environment for {name}: {reason}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerUnavailableError(f"no environment for {name}: {error}") from error
    return done.stdout
