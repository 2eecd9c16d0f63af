"""Exceptions of hlograph."""

from __future__ import annotations

import difflib
import importlib.util
import re
from collections.abc import Collection
from typing import Self

# XLA's parser reports "was parsing 3:7: error: ..." with 1-based line and column.
_POSITION = re.compile(r"was parsing (\d+):(\d+)")
_LISTED_NAMES = 20


class HloError(Exception):
    """Base class of all errors of hlograph."""


class HloWarning(UserWarning):
    """Category of warnings about what was left out of a source, or added to it."""


class HloParseError(HloError, ValueError):
    """Raised when a source is not an HLO module.

    Attributes:
        line: Line of the text at which parsing stopped, from 1; None if the source has no lines
            (a proto, an unreadable file).
        column: Column in that line, from 1; None if ``line`` is None.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        position = _POSITION.search(message)
        self.line = int(position.group(1)) if position else None
        self.column = int(position.group(2)) if position else None


class PassError(HloError):
    """Raised when an XLA pass returns an error; the module is as it was before the pass."""


class RewriteError(HloError):
    """Raised when a rewrite does not apply or XLA returns an error; the module is as before."""


class VerificationError(HloError):
    """Raised when XLA's HloVerifier rejects a module."""


class NotExecutableError(HloError):
    """Raised when a module cannot be compiled for this machine's CPU and run on it."""


class UnknownNameError(HloError, KeyError):
    """Raised when no pass, rule, pipeline, benchmark or option has the given name."""

    @classmethod
    def of(cls, kind: str, name: str, names: Collection[str]) -> Self:
        """Returns the error for an unknown name, with a message that lists known names.

        The message suggests up to three similar names. If none is similar, it lists the first 20.

        Args:
            kind: Kind of the named object, such as "pass".
            name: The unknown name.
            names: The names that exist.
        """
        message = f"no {kind} is called {name!r}; "
        if similar := difflib.get_close_matches(name, names, n=3):
            return cls(f"{message}did you mean {', '.join(map(repr, similar))}?")
        listed = ", ".join(list(names)[:_LISTED_NAMES])
        rest = len(names) - _LISTED_NAMES
        return cls(f"{message}known: {listed}" + (f" and {rest} more" if rest > 0 else ""))

    def __str__(self) -> str:
        # KeyError would print the repr of the message.
        return str(self.args[0]) if self.args else ""


class EngineUnavailableError(HloError, ImportError):
    """Raised when the native extension or the XLA libraries it needs cannot be loaded."""


class MissingExtraError(HloError, ImportError):
    """Raised when packages of an extra of hlograph are needed, and not installed."""

    @classmethod
    def check(cls, extra: str, *packages: str) -> None:
        """Checks that packages are installed. They are not imported, which may take seconds.

        Args:
            extra: Name of the extra that installs them.
            *packages: Names that are imported.

        Raises:
            MissingExtraError: One of them is not.
        """
        missing = [name for name in packages if importlib.util.find_spec(name) is None]
        if missing:
            raise cls(
                f"expected {' and '.join(missing)} to be installed: pip install 'hlograph[{extra}]'"
            )


class DamagedFileError(HloError):
    """Raised when a file is truncated, altered, of another kind or of an unsupported version."""


class WorkerLostError(HloError):
    """Raised when a worker process ended during a task.

    Attributes:
        kind: One word for logs: ``crashed``, ``timed_out``, ``out_of_memory`` or ``killed``.
        note: Note of the operation that the worker's flight recorder held; None without one.
        to_blame: True if that operation caused the loss, as far as the pool can tell.
        seconds: Duration of the operation so far, in seconds.
        output: The last part of the worker's stderr, such as the message of a failed CHECK.
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
    """Raised when a worker ended by itself: a failed CHECK, a bad memory access, an exit."""

    kind = "crashed"


class WorkerTimedOutError(WorkerLostError):
    """Raised when a worker was killed because an operation exceeded its time limit.

    Also raised for a worker that was stopped by a signal.
    """

    kind = "timed_out"


class WorkerOutOfMemoryError(WorkerLostError):
    """Raised when a worker was killed because its resident memory exceeded the limit."""

    kind = "out_of_memory"


class WorkerKilledError(WorkerLostError):
    """Raised when a worker was killed from outside: by a user, or by the kernel out of memory."""

    kind = "killed"


class PlanError(HloError):
    """Raised when a plan cannot be read, or cannot be carried out on a program."""


class PlanRefusedError(PlanError):
    """Raised when a plan was made for another program, jaxlib or machine."""


class ProgramError(HloError):
    """Raised when a program cannot be compiled for one CPU by jaxlib."""
