"""Limits of a worker process, and its state as the operating system reports it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class WorkerLimits:
    """Limits of a worker; the pool kills a worker that exceeds one.

    Attributes:
        seconds: Longest duration of one recorded operation (a pass, a compilation), in seconds.
        idle_seconds: Longest time without a recorded operation during a task, in seconds.
        stopped_seconds: Longest time that a worker is stopped (SIGSTOP, SIGTSTP), in seconds.
        memory: Largest resident memory of one worker, in bytes.
    """

    seconds: float = 60.0
    idle_seconds: float = 600.0
    stopped_seconds: float = 1.0
    memory: int = 8 << 30


@dataclass(frozen=True)
class Vitals:
    """State of a process as the kernel reports it.

    Attributes:
        stopped: True if the process is stopped by a signal.
        memory: Resident memory in bytes.
    """

    stopped: bool
    memory: int


def vitals(pid: int) -> Vitals | None:
    """Returns the state of a process; None if it has ended."""
    folder = Path(f"/proc/{pid}")
    try:
        # The process name in parentheses may itself contain blanks and parentheses.
        state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        pages = int((folder / "statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return Vitals(stopped=state == "T", memory=pages * _PAGE)
