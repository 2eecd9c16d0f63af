"""What a worker process may take, and what the operating system says that it takes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Limits:
    """When a worker is given up.

    Attributes:
        seconds: One recorded operation (a pass, a compilation) may take so long.
        idle_seconds: So long may pass without a recorded operation during a task.
        stopped_seconds: So long may a worker be stopped (SIGSTOP, SIGTSTP).
        memory: Resident bytes of one worker.
    """

    seconds: float = 60.0
    idle_seconds: float = 600.0
    stopped_seconds: float = 1.0
    memory: int = 8 << 30


@dataclass(frozen=True)
class Vitals:
    """A process as the kernel sees it.

    Attributes:
        stopped: Whether it is stopped by a signal.
        memory: Resident bytes.
    """

    stopped: bool
    memory: int


def vitals(pid: int) -> Vitals | None:
    """Returns the vitals of a process; None when it is gone."""
    folder = Path(f"/proc/{pid}")
    try:
        # The name in parentheses may hold anything, blanks and parentheses included.
        state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        pages = int((folder / "statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return Vitals(stopped=state == "T", memory=pages * _PAGE)
