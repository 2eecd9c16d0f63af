"""The report of a fuzz campaign: findings, grouped, and what was covered."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hlograph.storage.atomic_write import write_text_atomically
from tests.campaigns.passes.heap import HeapTrend
from tests.campaigns.passes.plan import Coverage
from tests.campaigns.passes.records import Finding, Tally

_SIGNATURE = 60
_EXAMPLES = 5


@dataclass
class CampaignResult:
    """What a campaign did and found.

    Attributes:
        seed: Of the campaign.
        findings: All defects, in the order in which they came.
        tally: Counts.
        coverage: Passes and opcode sets that met.
        visited: Visits by benchmark.
        benchmarks: How many there were to visit.
        lost_workers: Workers that died, were too slow or took too much memory.
        heaps: Heaps of the workers, by process.
        probed: Passes searched for leaks, and how often.
        seconds: Wall time.
        interrupted: Whether it was stopped before its end.
    """

    seed: int
    findings: list[Finding] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    coverage: Coverage = field(default_factory=Coverage)
    visited: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    benchmarks: int = 0
    lost_workers: int = 0
    heaps: dict[int, HeapTrend] = field(default_factory=lambda: defaultdict(HeapTrend))
    probed: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    seconds: float = 0.0
    interrupted: bool = False


def grouped(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Findings of one kind, pass and message together; the shortest walk of a group first."""
    groups: dict[tuple[str, str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        # A replay says what led elsewhere, not which pass did it.
        blamed = "" if finding.kind == "non-determinism" else finding.blamed
        groups[finding.kind, blamed, finding.detail[:_SIGNATURE]].append(finding)
    ordered = [sorted(group, key=lambda f: len(f.passes)) for group in groups.values()]
    return sorted(ordered, key=len, reverse=True)


def report_json(result: CampaignResult) -> dict[str, Any]:
    """The whole report as JSON; findings in full, to be repeated."""
    tally: dict[str, Any] = dict(vars(result.tally))
    tally["errors"] = [
        {"pass": name, "message": message, "count": count}
        for (name, message), count in result.tally.errors.most_common()
    ]
    return {
        "seed": result.seed,
        "interrupted": result.interrupted,
        "seconds": result.seconds,
        "tally": tally,
        "benchmarks_visited": len(result.visited),
        "benchmarks": result.benchmarks,
        "opcode_sets": len(result.coverage.seen),
        "pairs_of_pass_and_opcode_set": result.coverage.pairs,
        "lost_workers": result.lost_workers,
        "heaps": [asdict(trend) for trend in result.heaps.values()],
        "leak_probes_by_pass": dict(sorted(result.probed.items())),
        "findings": [
            {"count": len(group), "examples": [asdict(f) for f in group[:_EXAMPLES]]}
            for group in grouped(result.findings)
        ],
    }


def report_text(result: CampaignResult) -> str:
    """The report for people."""
    tally = result.tally
    rate = 1e3 * result.seconds / tally.steps if tally.steps else 0.0
    lines = [
        f"{tally.steps:,} steps in {tally.walks:,} walks (seed {result.seed}), "
        f"{tally.changes.total():,} calls of {len(tally.changes)} passes changed the module; "
        f"{tally.calls:,} pass calls in all",
        f"{result.seconds:,.0f} s, {rate:.2f} ms a step"
        + ("; stopped before the end" if result.interrupted else ""),
        f"{len(result.visited):,} of {result.benchmarks:,} modules visited, "
        f"{len(result.coverage.seen):,} opcode sets, "
        f"{result.coverage.pairs:,} pairs of pass and opcode set",
        f"{tally.replays:,} replays, {tally.other_process:,} in another process, "
        f"{tally.forks:,} forks, {tally.round_trips:,} round trips, "
        f"{tally.verified:,} verifications, {tally.leak_probes:,} leak probes of "
        f"{len(result.probed)} passes, {tally.outgrown:,} walks ended by growth",
        f"lost workers: {result.lost_workers}; heaps: "
        + ", ".join(f"{t.per_visit:+,.0f} bytes a visit" for t in result.heaps.values()),
        "",
        f"errors that left the module as it was: {sum(tally.errors.values()):,}",
    ]
    lines += [f"  {n:7,}  {name}: {text}" for (name, text), n in tally.errors.most_common()]
    lines += ["", f"changes reported without one: {sum(tally.idle_changes.values()):,}"]
    lines += [f"  {count:7,}  {name}" for name, count in tally.idle_changes.most_common()]
    lines += ["", f"FINDINGS: {len(result.findings)}"]
    for group in grouped(result.findings):
        first = group[0]
        lines += [
            f"- {first.kind}, {len(group)} times, after {first.blamed or 'no pass'}",
            f"  {first.benchmark}: {' '.join(first.passes)}",
            *("  " + line for line in first.detail.splitlines()[:12]),
        ]
    return "\n".join(lines) + "\n"


def save(result: CampaignResult, folder: Path) -> None:
    """Writes report.json and report.txt."""
    folder.mkdir(parents=True, exist_ok=True)
    content = json.dumps(report_json(result), indent=1) + "\n"
    write_text_atomically(folder / "report.json", content)
    write_text_atomically(folder / "report.txt", report_text(result))
