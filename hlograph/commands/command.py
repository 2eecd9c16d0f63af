"""Base class of the subcommands, and their answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

Flag = Annotated[bool, tyro.conf.arg(help_behavior_hint="")]
"""Type of an option that is off by default, which its help need not say."""

OptionalFile = Annotated[Path | None, tyro.conf.arg(metavar="PATH", help_behavior_hint="")]
"""Type of an option that names a file or folder, or none."""


@dataclass(frozen=True)
class Answer:
    """Output of a subcommand on stdout.

    Attributes:
        text: The answer for people.
        content: The answer for programs, which JSON can hold.
        status: Exit status.
    """

    text: str
    content: object
    status: int = 0


@dataclass(frozen=True, kw_only=True)
class Command:
    """Base class of the options of all subcommands."""

    json: Flag = False
    """Print JSON on stdout, and nothing else there."""
    debug: Flag = False
    """Show the traceback of an error; so does HLOGRAPH_DEBUG=1."""

    def run(self) -> Answer:
        """Does the work. It prints progress and warnings on stderr alone.

        Raises:
            HloError: It cannot be done; the message says why.
            OSError: A file cannot be written.
        """
        raise NotImplementedError


def one_line(error: Exception) -> str:
    """Returns the message of an error and its notes, without tracebacks, as one line."""
    notes = [note for note in getattr(error, "__notes__", ()) if "Traceback (most" not in note]
    return " ".join(f"{error} {' '.join(notes)}".split()) or type(error).__name__
