"""Data of a pass campaign: findings, walks to repeat, counts, tasks, results, and the report."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from hlograph.storage.atomic_write import write_text_atomically
from tests.campaigns.passes.heap import growth_per_visit

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

    def add(self, other: Tally) -> None:
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


_SIGNATURE = 60
_EXAMPLES = 5


@dataclass
class CampaignResult:
    """Counts and findings of a campaign.

    Attributes:
        seed: Seed of the campaign.
        seen: Passes that ran on a module of an opcode set, as in `Visit.seen`.
        benchmarks: Number of modules to visit.
        findings: All defects, in the order in which they appeared.
        tally: Counts.
        visited: Visits by module.
        lost_workers: Workers that died, were too slow or took too much memory.
        heaps: Bytes in use when each visit of a worker began, by process.
        seconds: Wall time.
        interrupted: True if Ctrl-C ended it.
    """

    seed: int
    seen: dict[int, int]
    benchmarks: int
    findings: list[Finding] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    visited: Counter[str] = field(default_factory=Counter)
    lost_workers: int = 0
    heaps: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def pairs(self) -> int:
        """Number of pairs of a pass and an opcode set that met."""
        return sum(passes.bit_count() for passes in self.seen.values())

    def save(self, folder: Path) -> None:
        """Writes report.json and report.txt."""
        content = json.dumps(report_json(self), indent=1) + "\n"
        write_text_atomically(folder / "report.json", content)
        write_text_atomically(folder / "report.txt", report_text(self))


def grouped(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Groups findings of one kind, pass and message; the shortest walk of a group comes first."""
    groups: dict[tuple[str, str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        # A replay shows where a walk ended differently, not the pass that caused it.
        blamed = "" if finding.kind == "non-determinism" else finding.blamed
        groups[finding.kind, blamed, finding.detail[:_SIGNATURE]].append(finding)
    ordered = [sorted(group, key=lambda f: len(f.passes)) for group in groups.values()]
    return sorted(ordered, key=len, reverse=True)


def report_json(result: CampaignResult) -> dict[str, Any]:
    """Returns the report as JSON, with up to five findings of a group in full."""
    errors = [
        {"pass": name, "message": message, "count": count}
        for (name, message), count in result.tally.errors.most_common()
    ]
    return {
        "seed": result.seed,
        "interrupted": result.interrupted,
        "seconds": result.seconds,
        "tally": vars(result.tally) | {"errors": errors},
        "benchmarks_visited": len(result.visited),
        "benchmarks": result.benchmarks,
        "opcode_sets": len(result.seen),
        "pairs_of_pass_and_opcode_set": result.pairs,
        "lost_workers": result.lost_workers,
        "heap_growth_per_visit": [growth_per_visit(heaps) for heaps in result.heaps.values()],
        "findings": [
            {"count": len(group), "examples": [asdict(f) for f in group[:_EXAMPLES]]}
            for group in grouped(result.findings)
        ],
    }


def report_text(result: CampaignResult) -> str:
    """Returns the report as text."""
    tally = result.tally
    rate = 1e3 * result.seconds / tally.steps if tally.steps else 0.0
    errors = Counter({f"{name}: {text}": n for (name, text), n in tally.errors.items()})
    lines = [
        f"{tally.steps:,} steps in {tally.walks:,} walks (seed {result.seed}), "
        f"{tally.changes.total():,} calls of {len(tally.changes)} passes changed the module; "
        f"{tally.calls:,} pass calls in all",
        f"{result.seconds:,.0f} s, {rate:.2f} ms a step"
        + ("; stopped before the end" if result.interrupted else ""),
        f"{len(result.visited):,} of {result.benchmarks:,} modules visited, "
        f"{len(result.seen):,} opcode sets, {result.pairs:,} pairs of pass and opcode set",
        f"{tally.replays:,} replays, {tally.replays_elsewhere:,} in another process, "
        f"{tally.forks:,} forks, {tally.round_trips:,} round trips, "
        f"{tally.verified:,} verifications, {tally.leak_probes.total():,} leak probes of "
        f"{len(tally.leak_probes)} passes, {tally.outgrown:,} walks ended by growth",
        f"lost workers: {result.lost_workers}; heaps: "
        + ", ".join(f"{growth_per_visit(h):+,.0f} bytes a visit" for h in result.heaps.values()),
        *_counts("errors that left the module unchanged", errors),
        *_counts("reports of a change where nothing changed", tally.idle_changes),
        "",
        f"FINDINGS: {len(result.findings)}",
    ]
    for group in grouped(result.findings):
        first = group[0]
        lines += [
            f"- {first.kind}, {len(group)} times, after {first.blamed or 'no pass'}",
            f"  {first.benchmark}: {' '.join(first.passes)}",
            *("  " + line for line in first.detail.splitlines()[:12]),
        ]
    return "\n".join(lines) + "\n"


def _counts(title: str, counts: Counter[str]) -> list[str]:
    rows = [f"  {count:7,}  {name}" for name, count in counts.most_common()]
    return ["", f"{title}: {counts.total():,}", *rows]
