"""One call of XLA, as a flight recorder and a quarantine file name it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.transforms.steps import is_place

RUN, RUN_LOWERED = "run", "run-lowered"
"""What a call is named that compiles and runs the state, and one that does so with the fusions
that the state has; no pass has the names."""
_LISTING = "rewrites by "

Pair = tuple[str, str]
"""Where something is not to be tried again, and its name; see ``PassCall.pair``."""


@dataclass(frozen=True, slots=True)
class PassCall:
    """A pass, or something about rewrites, called on the state that a benchmark is in after others.

    Attributes:
        name: Name of the pass, place of the rewrite, ``listing`` of rules, ``RUN`` or
            ``RUN_LOWERED``.
        fingerprint: The state's.
        benchmark: Name of the benchmark.
        applied: Names of the passes, or places of the rewrites, that led there, those without
            effect included.
    """

    name: str
    fingerprint: str
    benchmark: str
    applied: tuple[str, ...]

    @property
    def pair(self) -> Pair:
        """What is not to be tried again if this call ended a process.

        A pass, and running, on the state alone. A rewrite, and the listing of rules, on the
        benchmark in all its states: a place is in most of them, and each would cost a worker.
        """
        whole = is_place(self.name) or self.rules is not None
        return (self.benchmark if whole else self.fingerprint), self.name

    @property
    def rules(self) -> list[str] | None:
        """Names of the rules whose rewrites were to be listed; None of another call."""
        found = self.name.removeprefix(_LISTING)
        return None if found == self.name else found.split(" ")

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
        return cls(name, fingerprint, benchmark, tuple(applied.split("\t")) if applied else ())


def listing(rules: Iterable[str]) -> str:
    """What a call is named that lists the rewrites of these rules."""
    return _LISTING + " ".join(rules)


def note(name: str, fingerprint: str, benchmark: str, applied: Sequence[str]) -> bytes:
    """Returns the note of a call; made before each pass, so it has to be quick."""
    # Names of passes and places have no tab, and only a benchmark's path may have a line break.
    applied_text = "\t".join(applied)
    return f"{name}\n{fingerprint}\n{applied_text}\n{benchmark}".encode()


@contextmanager
def noted(
    recorder: FlightRecorder | None,
    name: str,
    fingerprint: str,
    benchmark: str,
    applied: Sequence[str],
) -> Iterator[None]:
    """Notes a call for as long as the block takes.

    Args:
        recorder: Where; None for nowhere.
        name: As of ``PassCall``, and so the rest.
        fingerprint: The state's.
        benchmark: Name of the benchmark.
        applied: What led to the state.
    """
    if recorder is None:
        yield
        return
    recorder.begin(note(name, fingerprint, benchmark, applied))
    try:
        yield
    finally:
        recorder.end()
