"""What a fuzz campaign passes around: findings, replayable walks, counts."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal[
    "crash",
    "time limit",
    "memory limit",
    "error changed the module",
    "silent change",
    "verifier failure",
    "clone differs",
    "clone shares state",
    "non-determinism",
    "round trip differs",
    "leak",
    "engine error",
]
"""Kinds of findings. Each is a defect; what a pass may do, such as an error that leaves the
module alone or a claim of a change where nothing changed, is counted in `Tally` instead."""


@dataclass(frozen=True)
class Finding:
    """A defect, and how to see it again.

    Attributes:
        kind: What kind of defect.
        benchmark: Name of the corpus module that the walk began with.
        passes: All pass calls of the walk up to the one after which it showed.
        detail: What was expected and what came.
    """

    kind: Kind
    benchmark: str
    passes: tuple[str, ...]
    detail: str

    @property
    def blamed(self) -> str:
        """The last pass called; empty when none was."""
        return self.passes[-1] if self.passes else ""


class FindingError(Exception):
    """Ends a walk at the first defect, since the module is of no use any more."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.detail)
        self.finding = finding


@dataclass(frozen=True)
class WalkRecord:
    """A walk without findings, to be repeated in another process.

    Attributes:
        benchmark: Name of the corpus module that it began with.
        passes: All pass calls.
        op_counts: Instructions after each of them.
        fingerprint: Of the module at the end.
        pid: Process that walked.
    """

    benchmark: str
    passes: tuple[str, ...]
    op_counts: tuple[int, ...]
    fingerprint: str
    pid: int


@dataclass
class Tally:
    """Counts that add up over walks, visits and workers.

    Attributes:
        steps: Pass calls of the walks; calls of clones, replays and probes are not among them.
        calls: All pass calls.
        walks: Walks that began.
        forks: Walks forked and led on twice.
        replays: Walks repeated on a fresh module in the same process.
        other_process: Walks repeated by another worker or in a fresh interpreter.
        round_trips: Modules printed and parsed, or sent through a proto.
        verified: Calls of the verifier.
        leak_probes: Passes repeated on clones to see memory grow.
        outgrown: Walks ended early because the module had grown too large.
        changes: Calls of walks and forks that changed the module, by pass.
        errors: Pass errors that left the module as it was, by (pass, start of the message).
        idle_changes: Passes that reported a change and left the fingerprint as it was.
    """

    steps: int = 0
    calls: int = 0
    walks: int = 0
    forks: int = 0
    replays: int = 0
    other_process: int = 0
    round_trips: int = 0
    verified: int = 0
    leak_probes: int = 0
    outgrown: int = 0
    changes: Counter[str] = field(default_factory=Counter)
    errors: Counter[tuple[str, str]] = field(default_factory=Counter)
    idle_changes: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Tally") -> None:
        """Adds another tally to this one."""
        for name, value in vars(other).items():
            if isinstance(value, Counter):
                getattr(self, name).update(value)
            else:
                setattr(self, name, getattr(self, name) + value)


@dataclass(frozen=True)
class Visit:
    """A task: a few walks from one corpus module, and walks of others to repeat.

    Attributes:
        benchmark: Name of the corpus module.
        seed: Of all that is random in it.
        seen: Passes that met a module of an opcode set before, as bit masks by the set's bit
            mask; what the campaign knows when a round begins.
        replays: Walks from the same module, to be repeated.
    """

    benchmark: str
    seed: str
    seen: Mapping[int, int]
    replays: tuple[WalkRecord, ...] = ()


@dataclass
class VisitResult:
    """What came of a visit.

    Attributes:
        tally: Counts.
        findings: Defects.
        seen: Opcode sets that were met, and the passes that met them, as in `Visit.seen`.
        records: Some of its walks, to be repeated elsewhere.
        pid: Process that did it.
        heap: Bytes of the C heap in use when it began.
        probed: Passes searched for leaks, and how often.
    """

    tally: Tally = field(default_factory=Tally)
    findings: list[Finding] = field(default_factory=list)
    seen: dict[int, int] = field(default_factory=dict)
    records: list[WalkRecord] = field(default_factory=list)
    pid: int = 0
    heap: int = 0
    probed: Counter[str] = field(default_factory=Counter)
