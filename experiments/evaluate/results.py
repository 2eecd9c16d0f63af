"""The final table: op counts of every held-out benchmark, and their means."""

import csv
import hashlib
import io
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from experiments.evaluate.benchmarks import REFERENCES, Reference
from experiments.evaluate.evaluation import Check, Outcome, speedup
from experiments.evaluate.metrics import Reduction, count_ratio, ratios, reduction_ratio, worst
from hlograph.storage.atomic_write import write_text_atomically
from hlograph.storage.checked_file import write_checked_json

_SMALL = 100
"""Instructions up to which a benchmark is small: there a policy wins or loses single ones."""


@dataclass(frozen=True)
class Result:
    """Outcomes of the policies on the held-out benchmarks, and the references beside them."""

    references: Mapping[str, Reference]
    """References by benchmark."""
    outcomes: Mapping[str, Sequence[Outcome]]
    """Outcomes by policy; each over the same benchmarks in the same order."""
    checks: Mapping[str, Sequence[Check]]
    """Checks by policy, in the same order; an outcome that failed its check counts as no passes."""

    @classmethod
    def of(
        cls,
        references: Mapping[str, Reference],
        outcomes: Mapping[str, Sequence[Outcome]],
        checks: Mapping[str, Sequence[Check]],
    ) -> "Result":
        """Returns the result of outcomes, of which only those that passed their check count."""
        counted = {
            policy: [o.unless(c) for o, c in zip(played, checks[policy], strict=True)]
            for policy, played in outcomes.items()
        }
        return cls(references, counted, checks)

    @property
    def benchmarks(self) -> list[str]:
        """Names of the benchmarks, in the order of the rows."""
        return [o.benchmark for o in next(iter(self.outcomes.values()))]

    def _start_and_after(self, pipeline: str) -> tuple[list[int], list[int]]:
        rows = [self.references[name] for name in self.benchmarks]
        return [r.start for r in rows], [r.after[pipeline] for r in rows]

    def count_ratio(self, policy: str, pipeline: str) -> float:
        """Returns the count ratio of a policy against a reference."""
        _, after = self._start_and_after(pipeline)
        return count_ratio(after, [o.op_count for o in self.outcomes[policy]])

    def worst(self, policy: str, pipeline: str) -> float:
        """Returns the least count ratio of a policy on a benchmark."""
        _, after = self._start_and_after(pipeline)
        return worst(ratios(after, [o.op_count for o in self.outcomes[policy]]))

    def part(self, chosen: Callable[[Reference], bool]) -> "Result":
        """Returns the result of those benchmarks whose references a function chooses."""
        numbers = [n for n, name in enumerate(self.benchmarks) if chosen(self.references[name])]
        return Result(
            self.references,
            {policy: [played[n] for n in numbers] for policy, played in self.outcomes.items()},
            {policy: [checks[n] for n in numbers] for policy, checks in self.checks.items()},
        )

    def reduction(self, policy: str, pipeline: str) -> Reduction:
        """Returns the reduction ratio of a policy against a reference."""
        start, after = self._start_and_after(pipeline)
        agent = [o.op_count for o in self.outcomes[policy]]
        return reduction_ratio(self.benchmarks, start, after, agent)


def summary(result: Result) -> dict[str, dict[str, dict[str, Any]]]:
    """Returns both measures, by policy and reference, as JSON."""
    measures: dict[str, dict[str, dict[str, Any]]] = {}
    for policy in result.outcomes:
        measures[policy] = {}
        for pipeline in REFERENCES:
            reduction = result.reduction(policy, pipeline)
            measures[policy][pipeline] = {
                "count_ratio": result.count_ratio(policy, pipeline),
                "worst_count_ratio": result.worst(policy, pipeline),
                # JSON has no nan.
                "reduction_ratio": None if math.isnan(reduction.ratio) else reduction.ratio,
                "reduction_counted": reduction.counted,
                "not_reduced_by_reference": list(reduction.not_reduced_by_reference),
                "not_reduced_by_agent": list(reduction.not_reduced_by_agent),
            }
    return measures


def rows(result: Result) -> list[dict[str, Any]]:
    """Returns one row for each benchmark, with raw counts."""
    table = []
    for i, name in enumerate(result.benchmarks):
        reference = result.references[name]
        row: dict[str, Any] = {"benchmark": name, "start": reference.start, **reference.after}
        for policy, outcomes in result.outcomes.items():
            row[policy] = outcomes[i].op_count
            row[f"{policy}_passes"] = len(outcomes[i].passes)
            row[f"{policy}_calls"] = outcomes[i].calls
            if outcomes[i].run_time is not None:
                row[f"{policy}_run_time"] = outcomes[i].run_time
        table.append(row)
    return table


def table_text(result: Result, width: int | None = None) -> str:
    """Returns the table and the geometric means as text.

    Args:
        result: The result.
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
    """Returns the table of geometric means, with a row for each policy and reference.

    Small benchmarks and the others have rows of their own, too, if there are both.
    """
    table = Table(title="Geometric means; above 1 the policy is better")
    for heading in ("policy", "against", "benchmarks"):
        table.add_column(heading)
    for heading in ("count ratio", "worst", "reduction ratio", "over"):
        table.add_column(heading, justify="right")
    groups = _groups(result)
    for policy in result.outcomes:
        for pipeline in REFERENCES:
            for name, group in groups.items():
                reduction = group.reduction(policy, pipeline)
                table.add_row(
                    policy,
                    pipeline,
                    name,
                    f"{group.count_ratio(policy, pipeline):.4f}",
                    f"{group.worst(policy, pipeline):.3f}",
                    f"{reduction.ratio:.4f}",
                    f"{reduction.counted} of {len(group.benchmarks)}",
                )
    return table


def _groups(result: Result) -> dict[str, Result]:
    """Returns the result, and its parts of small and of larger benchmarks, by name."""
    parts = {
        f"up to {_SMALL} instructions": result.part(lambda reference: reference.start <= _SMALL),
        "larger": result.part(lambda reference: reference.start > _SMALL),
    }
    return {"all": result, **(parts if all(part.benchmarks for part in parts.values()) else {})}


def _notes(result: Result) -> list[str]:
    """Returns notes on benchmarks that the means leave out, and on checks and times."""
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
        checks = list(zip(result.benchmarks, result.checks[policy], strict=True))
        verdicts = Counter(check.verdict for _, check in checks)
        told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        timed = speedup(result.outcomes[policy])
        if timed is not None:
            notes.append(f"run time before / after {policy}, geometric mean: {timed:.3f}")
        notes.append(f"outputs of {policy}'s modules against the originals': {told}")
        late = [o.benchmark for o in result.outcomes[policy] if o.out_of_time]
        if late:
            notes.append(f"OUT OF TIME, best state until then: {policy} on {', '.join(late)}")
        for name, check in checks:
            if check.problem:
                notes.append(f"NOT COUNTED: {policy} on {name}: {check.problem}")
    return notes


def save(result: Result, folder: Path) -> None:
    """Writes results.json, results.csv and table.txt; the first has checksums of the others.

    Raises:
        OSError: A file cannot be written; what was there before is unchanged.
    """
    lines = io.StringIO()
    table = rows(result)
    writer = csv.DictWriter(lines, list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    files = {"results.csv": lines.getvalue(), "table.txt": table_text(result) + "\n"}
    content = {
        "summary": summary(result),
        "benchmarks": table,
        "passes": _by_benchmark(result, lambda n, o: list(result.outcomes[n][o].passes)),
        "checks": _by_benchmark(result, lambda n, o: asdict(result.checks[n][o])),
        "files": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()},
    }
    write_checked_json(folder / "results.json", "results", 1, content)
    for name, text in files.items():
        write_text_atomically(folder / name, text)


def _by_benchmark(result: Result, value: Callable[[str, int], Any]) -> dict[str, dict[str, Any]]:
    """Returns a value for each policy and benchmark, by their names."""
    return {
        policy: {name: value(policy, number) for number, name in enumerate(result.benchmarks)}
        for policy in result.outcomes
    }


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table.

    Args:
        heads: Heads of the columns.
        rows: Cells of each row, as text without line breaks.
    """
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
