"""Description of one call of XLA, for flight recorders and quarantine files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.transforms.rewriting import is_place

RUN, RUN_LOWERED = "run", "run-lowered"
"""Names of calls that compile and run a state; ``RUN_LOWERED`` keeps the fusions of the state. No
pass has these names."""
_LISTING = "rewrites by "

Pair = tuple[str, str]
"""A place (fingerprint of a state, or name of a benchmark) and the name of a call that is not
repeated there; see ``PassCall.pair``."""


@dataclass(frozen=True, slots=True)
class PassCall:
    """A call of a pass, a rewrite, a listing of rewrites, or a run, on one state of a benchmark.

    Attributes:
        name: Name of the pass, place of the rewrite, ``listing`` of rules, ``RUN`` or
            ``RUN_LOWERED``.
        fingerprint: Fingerprint of the state.
        benchmark: Name of the benchmark.
        applied: Names of the passes, or places of the rewrites, that led to the state, including
            those without effect.
    """

    name: str
    fingerprint: str
    benchmark: str
    applied: tuple[str, ...]

    @property
    def pair(self) -> Pair:
        """The pair to quarantine if this call ended a process.

        A pass or a run is quarantined on one state. A rewrite or a listing of rules is quarantined
        on all states of the benchmark: most states have the place, and trying each of them would
        cost a worker.
        """
        whole = is_place(self.name) or self.rules is not None
        return (self.benchmark if whole else self.fingerprint), self.name

    @property
    def rules(self) -> list[str] | None:
        """Names of the rules of a listing; None for other calls."""
        names = self.name.removeprefix(_LISTING)
        return None if names == self.name else names.split(" ")

    def to_note(self) -> bytes:
        """Returns the call as a flight recorder's note."""
        return note(self.name, self.fingerprint, self.benchmark, self.applied)

    @classmethod
    def from_note(cls, text: bytes) -> PassCall:
        """Reads a note that ``to_note`` wrote.

        Raises:
            ValueError: The note has another format.
        """
        name, fingerprint, applied, benchmark = text.decode().split("\n", 3)
        return cls(name, fingerprint, benchmark, tuple(applied.split("\t")) if applied else ())


def listing(rules: Iterable[str]) -> str:
    """Returns the name of a call that lists the rewrites of these rules."""
    return _LISTING + " ".join(rules)


def note(name: str, fingerprint: str, benchmark: str, applied: Sequence[str]) -> bytes:
    """Returns the note of a call. It is called before each pass, so it has to be fast."""
    # Names of passes and places contain no tab, and only a benchmark's path may contain a line
    # break.
    applied_text = "\t".join(applied)
    return f"{name}\n{fingerprint}\n{applied_text}\n{benchmark}".encode()


def noted(
    recorder: FlightRecorder | None,
    name: str,
    fingerprint: str,
    benchmark: str,
    applied: Sequence[str],
) -> AbstractContextManager[None]:
    """Records a call for the duration of a ``with`` block.

    Args:
        recorder: The flight recorder; None records nothing.
        name: Name of the call, as in ``PassCall``.
        fingerprint: Fingerprint of the state.
        benchmark: Name of the benchmark.
        applied: Names of the passes and places that led to the state.
    """
    if recorder is None:
        return nullcontext()
    return recorder.noted(note(name, fingerprint, benchmark, applied))
