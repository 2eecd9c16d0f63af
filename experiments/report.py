"""The final table: op counts of every held-out benchmark, and what they come to."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from experiments.benchmarks import REFERENCES, Reference
from experiments.evaluation import Outcome
from experiments.metrics import Reduction, count_ratio, reduction_ratio
from hlograph.atomic_write import write_text_atomically


@dataclass(frozen=True)
class Result:
    """Outcomes of the policies on the held-out benchmarks, and the references beside them."""

    references: Mapping[str, Reference]
    """By benchmark."""
    outcomes: Mapping[str, Sequence[Outcome]]
    """By policy; each over the same benchmarks in the same order."""
    unverified: Mapping[str, Sequence[str]]
    """By policy: benchmarks whose passes alone did not lead to the same op count."""

    @property
    def benchmarks(self) -> list[str]:
        """Names of the benchmarks, in the order of the rows."""
        return [o.benchmark for o in next(iter(self.outcomes.values()))]

    def _start_and_after(self, pipeline: str) -> tuple[list[int], list[int]]:
        rows = [self.references[name] for name in self.benchmarks]
        return [r.start for r in rows], [r.after[pipeline] for r in rows]

    def count_ratio(self, policy: str, pipeline: str) -> float:
        """Count ratio of a policy against a reference."""
        _, after = self._start_and_after(pipeline)
        return count_ratio(after, [o.op_count for o in self.outcomes[policy]])

    def reduction(self, policy: str, pipeline: str) -> Reduction:
        """Reduction ratio of a policy against a reference."""
        start, after = self._start_and_after(pipeline)
        agent = [o.op_count for o in self.outcomes[policy]]
        return reduction_ratio(self.benchmarks, start, after, agent)


def summary(result: Result) -> dict[str, dict[str, dict[str, Any]]]:
    """Both measures, by policy and reference, as JSON."""
    measures: dict[str, dict[str, dict[str, Any]]] = {}
    for policy in result.outcomes:
        measures[policy] = {}
        for pipeline in REFERENCES:
            reduction = result.reduction(policy, pipeline)
            measures[policy][pipeline] = {
                "count_ratio": result.count_ratio(policy, pipeline),
                # JSON has no nan.
                "reduction_ratio": None if math.isnan(reduction.ratio) else reduction.ratio,
                "reduction_counted": reduction.counted,
                "not_reduced_by_reference": list(reduction.not_reduced_by_reference),
                "not_reduced_by_agent": list(reduction.not_reduced_by_agent),
            }
    return measures


def rows(result: Result) -> list[dict[str, Any]]:
    """One row for each benchmark, with raw counts."""
    table = []
    for i, name in enumerate(result.benchmarks):
        reference = result.references[name]
        row: dict[str, Any] = {"benchmark": name, "start": reference.start, **reference.after}
        for policy, outcomes in result.outcomes.items():
            row[policy] = outcomes[i].op_count
            row[f"{policy}_passes"] = len(outcomes[i].passes)
            row[f"{policy}_calls"] = outcomes[i].calls
        table.append(row)
    return table


def table_text(result: Result, width: int | None = None) -> str:
    """The table and the geometric means, as text.

    Args:
        result: What to show.
        width: Characters in a line; by default as many as the table needs.
    """
    table = Table(title="Op counts of held-out benchmarks")
    table.add_column("benchmark", no_wrap=True)
    for heading in ("start", *REFERENCES):
        table.add_column(heading, justify="right")
    for policy in result.outcomes:
        table.add_column(policy, justify="right")
        table.add_column("passes/calls", justify="right")
    for row in rows(result):
        cells = [row["benchmark"], *(str(row[k]) for k in ("start", *REFERENCES))]
        for policy in result.outcomes:
            cells += [str(row[policy]), f"{row[f'{policy}_passes']}/{row[f'{policy}_calls']}"]
        table.add_row(*cells)
    out = io.StringIO()
    console = Console(file=out, width=width or 200, highlight=False)
    console.print(table)
    console.print(_means(result))
    for line in _notes(result):
        console.print(line, soft_wrap=True)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _means(result: Result) -> Table:
    """Geometric means, a row for each policy and reference."""
    table = Table(title="Geometric means; above 1 the policy is better")
    for heading in ("policy", "against"):
        table.add_column(heading)
    for heading in ("count ratio", "reduction ratio", "over"):
        table.add_column(heading, justify="right")
    for policy in result.outcomes:
        for pipeline in REFERENCES:
            reduction = result.reduction(policy, pipeline)
            table.add_row(
                policy,
                pipeline,
                f"{result.count_ratio(policy, pipeline):.4f}",
                f"{reduction.ratio:.4f}",
                f"{reduction.counted} of {len(result.benchmarks)}",
            )
    return table


def _notes(result: Result) -> list[str]:
    """What the means leave out or hide, by name."""
    notes = []
    for pipeline in REFERENCES:
        reduction = result.reduction(next(iter(result.outcomes)), pipeline)
        if reduction.not_reduced_by_reference:
            names = ", ".join(reduction.not_reduced_by_reference)
            notes.append(f"{pipeline} does not reduce, no reduction ratio: {names}")
    for policy in result.outcomes:
        reduction = result.reduction(policy, REFERENCES[0])
        if reduction.not_reduced_by_agent:
            notes.append(f"{policy} does not reduce: {', '.join(reduction.not_reduced_by_agent)}")
        for name in result.unverified[policy]:
            notes.append(f"NOT VERIFIED: {policy} on {name}")
    return notes


def save(result: Result, folder: Path) -> None:
    """Writes results.json, results.csv and table.txt."""
    passes = {p: {o.benchmark: list(o.passes) for o in r} for p, r in result.outcomes.items()}
    content = {
        "summary": summary(result),
        "benchmarks": rows(result),
        "passes": passes,
        "unverified": {policy: list(names) for policy, names in result.unverified.items()},
    }
    write_text_atomically(folder / "results.json", json.dumps(content, indent=1) + "\n")
    lines = io.StringIO()
    table = rows(result)
    writer = csv.DictWriter(lines, list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    write_text_atomically(folder / "results.csv", lines.getvalue())
    write_text_atomically(folder / "table.txt", table_text(result) + "\n")
