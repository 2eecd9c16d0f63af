"""Report of a pass campaign: counts, coverage, and findings in groups."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hlograph.storage.atomic_write import write_text_atomically
from tests.campaigns.passes.heap import growth_per_visit
from tests.campaigns.passes.records import Finding, Tally

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
