"""Limits of a worker process, and the causes of its loss: limits, exits and signals."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from hlograph.errors import (
    WorkerCrashedError,
    WorkerKilledError,
    WorkerLostError,
    WorkerOutOfMemoryError,
    WorkerTimedOutError,
)
from hlograph.isolation.flight_recorder import FlightRecorder

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


# Signals that a process raises itself on an internal error; other signals come from outside.
_OF_ITS_OWN = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
_GIB = 1 << 30


class LimitCheck:
    """Checks again and again that one worker is within its limits.

    Args:
        limits: Limits of the worker.
        recorder: Flight recorder of the worker.
    """

    def __init__(self, limits: WorkerLimits, recorder: FlightRecorder) -> None:
        self._limits, self._recorder = limits, recorder
        self._stopped_since: float | None = None
        self._memory_before = 0

    def __call__(self, state: Vitals, now: float) -> WorkerLostError | None:
        """Returns the error to kill the worker with, or None if it is within its limits.

        Args:
            state: The worker's state.
            now: Time in seconds on any monotonic clock.
        """
        operation = self._recorder.operation
        note = operation.note if operation else None
        seconds = operation.seconds if operation else 0.0
        if not state.stopped:
            self._stopped_since = None
        elif self._stopped_since is None:
            self._stopped_since = now
        elif now - self._stopped_since > self._limits.stopped_seconds:
            return WorkerTimedOutError("the worker was stopped", note=note, seconds=seconds)
        if state.memory > self._limits.memory:
            # An operation is blamed if it caused most of the growth, not if it happened to run
            # when a slow leak reached the limit.
            grown = state.memory - self._memory_before
            return WorkerOutOfMemoryError(
                f"the worker took {state.memory / _GIB:.1f} GiB of memory, its limit is "
                f"{self._limits.memory / _GIB:.1f}",
                note=note,
                seconds=seconds,
                to_blame=2 * grown > self._limits.memory,
            )
        if operation is None:
            self._memory_before = state.memory
            if self._recorder.idle_seconds > self._limits.idle_seconds:
                return WorkerTimedOutError(
                    f"the worker recorded no operation for {self._limits.idle_seconds:g} s"
                )
        elif not state.stopped and seconds > (limit := operation.limit or self._limits.seconds):
            message = f"an operation took longer than its {limit:g} s"
            return WorkerTimedOutError(message, note=note, seconds=seconds, to_blame=True)
        return None


def error_of_exit(status: int, note: bytes | None) -> WorkerLostError:
    """Returns the error for a worker that ended without being killed by its pool.

    Args:
        status: Exit status of the process, negative for a signal.
        note: Note of the operation in progress; None without one.
    """
    if status >= 0:
        message = f"the worker exited with status {status}"
        return WorkerCrashedError(message, note=note, to_blame=True)
    name = signal.Signals(-status).name
    if -status in _OF_ITS_OWN:
        return WorkerCrashedError(f"the worker ended by {name}", note=note, to_blame=True)
    return WorkerKilledError(
        f"the worker was killed by {name} from outside: by a user, or by the kernel out of memory",
        note=note,
    )
