"""Data of a pass campaign: findings, walks to repeat, counts, tasks and their results."""

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
"""Kinds of findings. Each is a defect. What a pass may do, such as an error that leaves the module
unchanged or a report of a change where nothing changed, is counted in `Tally` instead."""


@dataclass(frozen=True)
class Finding:
    """Defect, and how to reproduce it.

    Attributes:
        kind: Kind of the defect.
        benchmark: Name of the module that the walk began with.
        passes: All pass calls of the walk up to the one after which the defect appeared.
        detail: What was expected and what was observed.
    """

    kind: Kind
    benchmark: str
    passes: tuple[str, ...]
    detail: str

    @property
    def blamed(self) -> str:
        """Last pass called; empty when none was."""
        return self.passes[-1] if self.passes else ""


class FindingError(Exception):
    """Raised to end a walk at its first defect, since its module cannot be used any more."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.detail)
        self.finding = finding


@dataclass(frozen=True)
class WalkRecord:
    """Walk without findings, to be repeated in another process.

    Attributes:
        benchmark: Name of the module that it began with.
        passes: All pass calls.
        op_counts: Instructions after each of them.
        fingerprint: Fingerprint of the module at the end.
        pid: Process of the walk.
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
        steps: Pass calls of the walks, without calls of clones, replays and leak probes.
        calls: All pass calls.
        walks: Walks that began.
        forks: Walks that were forked and continued twice.
        replays: Walks repeated on a fresh module in the same process.
        replays_elsewhere: Walks repeated by another worker or in a fresh interpreter.
        round_trips: Modules printed and parsed, or converted to a proto and back.
        verified: Calls of the verifier.
        outgrown: Walks ended early because the module had grown too large.
        leak_probes: Passes repeated on clones to measure the growth of the heap.
        changes: Calls of walks and forks that changed the module, by pass.
        errors: Pass errors that left the module unchanged, by (pass, start of the message).
        idle_changes: Passes that reported a change and left the fingerprint unchanged.
    """

    steps: int = 0
    calls: int = 0
    walks: int = 0
    forks: int = 0
    replays: int = 0
    replays_elsewhere: int = 0
    round_trips: int = 0
    verified: int = 0
    outgrown: int = 0
    leak_probes: Counter[str] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    errors: Counter[tuple[str, str]] = field(default_factory=Counter)
    idle_changes: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Tally") -> None:
        """Adds another tally to this one."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass(frozen=True)
class Visit:
    """Task of a worker: some walks from one module, and walks of other workers to repeat.

    Attributes:
        benchmark: Name of the module.
        seed: Seed of all randomness in it.
        seen: Passes that ran on a module of an opcode set in earlier rounds, as bit masks of pass
            numbers by the bit mask of the set.
        replays: Walks from the same module, to be repeated.
    """

    benchmark: str
    seed: str
    seen: Mapping[int, int]
    replays: tuple[WalkRecord, ...] = ()


@dataclass
class VisitResult:
    """Result of a visit.

    Attributes:
        tally: Counts.
        findings: Defects.
        seen: Opcode sets of the visit and the passes that ran on them, as in `Visit.seen`.
        records: Walks of the visit, to be repeated elsewhere.
        pid: Process of the visit.
        heap: Bytes of the C heap in use when the visit began.
    """

    tally: Tally = field(default_factory=Tally)
    findings: list[Finding] = field(default_factory=list)
    seen: dict[int, int] = field(default_factory=dict)
    records: list[WalkRecord] = field(default_factory=list)
    pid: int = 0
    heap: int = 0
