"""One call of a pass, as a flight recorder and a quarantine file name it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

RUN = "run"
"""What a call is named that compiles and runs the state; no pass and no rewrite has the name."""


@dataclass(frozen=True, slots=True)
class PassCall:
    """A pass called on the state that a benchmark is in after other passes.

    Attributes:
        name: Name of the pass.
        fingerprint: The state's.
        benchmark: Name of the benchmark.
        applied: Names of the passes that led there, those without effect included.
    """

    name: str
    fingerprint: str
    benchmark: str
    applied: tuple[str, ...]

    def to_note(self) -> bytes:
        """Returns the call as a flight recorder's note."""
        return note(self.name, self.fingerprint, self.benchmark, self.applied)

    @classmethod
    def from_note(cls, text: bytes) -> PassCall:
        """Reads what ``to_note`` wrote.

        Raises:
            ValueError: The note is of something else.
        """
        name, fingerprint, applied, benchmark = text.decode().split("\n", 3)
        return cls(name, fingerprint, benchmark, tuple(applied.split(",")) if applied else ())


def note(name: str, fingerprint: str, benchmark: str, applied: Sequence[str]) -> bytes:
    """Returns the note of a call; made before each pass, so it has to be quick."""
    # Names of passes have no comma, and only a benchmark's path may have a line break.
    return f"{name}\n{fingerprint}\n{','.join(applied)}\n{benchmark}".encode()
