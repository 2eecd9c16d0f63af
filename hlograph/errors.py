"""The errors that hlograph raises."""

from __future__ import annotations

import re

# XLA's parser reports "was parsing 3:7: error: ..." with 1-based line and column.
_POSITION = re.compile(r"was parsing (\d+):(\d+)")


class HloError(Exception):
    """Base class of every error that hlograph raises on purpose."""


class HloParseError(HloError, ValueError):
    """The source is not an HLO module.

    Attributes:
        line: Line of the text where parsing stopped, from 1; None where the
            source has no lines (a proto, an unreadable file).
        column: Column in that line, from 1; None likewise.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        position = _POSITION.search(message)
        self.line = int(position.group(1)) if position else None
        self.column = int(position.group(2)) if position else None


class PassError(HloError):
    """An XLA pass returned an error; the module is as it was before the pass."""


class RewriteError(HloError):
    """A rewrite does not apply, or XLA's code returned an error; the module is as it was."""


class VerificationError(HloError):
    """XLA's HloVerifier rejected the module."""


class NotExecutableError(HloError):
    """A module cannot be compiled and run on this machine's CPU, where that is asked for."""


class UnknownNameError(HloError, KeyError):
    """No pass, pipeline or benchmark has this name; the message lists near ones."""

    def __str__(self) -> str:
        # KeyError would print the repr of the message.
        return str(self.args[0]) if self.args else ""


class EngineUnavailableError(HloError, ImportError):
    """The native extension or the XLA libraries it needs cannot be loaded."""


class DamagedFileError(HloError):
    """A file is cut off, altered, of another kind, or of a version that is not read."""


class WorkerLostError(HloError):
    """A worker process ended in the middle of a task.

    Attributes:
        kind: One word for logs: ``crashed``, ``timed_out``, ``out_of_memory`` or ``killed``.
        note: What the worker was doing, as it noted in its flight recorder; None if nothing.
        to_blame: Whether that is what ended the worker, as far as can be told from outside.
        seconds: How long it had been doing it.
        output: The end of what the worker wrote to stderr, such as the message of a failed CHECK.
    """

    kind = "lost"

    def __init__(
        self,
        message: str,
        *,
        note: bytes | None = None,
        to_blame: bool = False,
        seconds: float = 0.0,
        output: str = "",
    ) -> None:
        super().__init__(message)
        self.note = note
        self.to_blame = to_blame and note is not None
        self.seconds = seconds
        self.output = output


class WorkerCrashedError(WorkerLostError):
    """The worker ended itself: a failed CHECK, a bad memory access, an exit."""

    kind = "crashed"


class WorkerTimedOutError(WorkerLostError):
    """The worker did one thing for longer than its limit, or was stopped; it was killed."""

    kind = "timed_out"


class WorkerOutOfMemoryError(WorkerLostError):
    """The worker's resident memory exceeded its limit; it was killed."""

    kind = "out_of_memory"


class WorkerKilledError(WorkerLostError):
    """Somebody else ended the worker: a user, or the kernel when the machine's memory ran out."""

    kind = "killed"
