"""Writes the tables of docs/board.md from the submissions in datasets/board.

    python -m benchmarks.board
    python -m benchmarks.board --page None    # prints the tables

Only submissions on the same modules stand in one table. `hlograph board verify` replays them, which
this does not.
"""

from __future__ import annotations

import math
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import tyro

from benchmarks.tables import write_parts
from experiments.evaluate.metrics import count_ratio, geometric_mean, ratios
from experiments.evaluate.results import markdown_table
from hlograph import corpus
from hlograph.board.submission import Submission, SubmissionError, SubmittedPlan
from hlograph.board.submission import SubmittedTrajectory as Submitted
from hlograph.corpus import Benchmark
from hlograph.errors import HloError

ROOT = Path(__file__).parents[1]
FOLDER, PAGE = ROOT / "datasets" / "board", ROOT / "docs" / "board.md"
_DIGITS = 4
"""Digits after the point of a ratio; submissions with equal ones share a rank."""

_HEADS = (
    *("rank", "submission", "by", "`xla-simplify` / left", "worst module", "start / left"),
    *("instructions", "to the start", "to `xla-simplify`", "steps", "outputs", "authors", "commit"),
)
_PLAN_HEADS = (
    *("rank", "submission", "by", "default / plan", "worst program"),
    *("outputs", "machine", "authors", "commit"),
)

_Modules = tuple[str, frozenset[str]]
"""Set and split of modules, and their names."""
_Row = tuple[float, str, Callable[[str], list[str]]]
"""Score, name, and a function from the rank to the cells."""


@dataclass(frozen=True)
class BoardConfig:
    """Settings of the page."""

    folder: Path = FOLDER
    """Folder with the submissions, one JSON file each."""
    page: Path | None = PAGE
    """Page whose parts between `<!-- begin: trajectories -->` or `<!-- begin: plans -->` and
    `<!-- end -->` are replaced; None prints them."""


@dataclass(frozen=True)
class Standing:
    """Holds what a submission reaches on its modules of one set and split."""

    submission: Submission
    results: Sequence[Submitted]
    benchmarks: Sequence[Benchmark]
    """The benchmark of each result."""

    @property
    def part(self) -> str:
        """Set and split."""
        return f"{self.benchmarks[0].set} {self.benchmarks[0].split}"

    @property
    def names(self) -> frozenset[str]:
        """Names of the modules."""
        return frozenset(each.name for each in self.benchmarks)

    @cached_property
    def left(self) -> list[int]:
        """Op counts of the results."""
        return [each.op_count for each in self.results]

    @cached_property
    def simplified(self) -> list[int]:
        """Op counts after `xla-simplify`, as the manifest has them.

        Raises:
            SubmissionError: They were not measured.
        """
        counts = [each.op_count_xla_simplify for each in self.benchmarks]
        if None in counts:
            name = self.benchmarks[counts.index(None)].name
            raise SubmissionError(f"expected the op count of {name} after xla-simplify, got none")
        return [count for count in counts if count is not None]

    @property
    def score(self) -> float:
        """Count ratio to `xla-simplify`, as the table shows it."""
        return round(count_ratio(self.simplified, self.left), _DIGITS)

    def cells(self, rank: str) -> list[str]:
        """Returns the cells of its row."""
        starts = [each.trajectory.start_op_count for each in self.results]
        worst, name = min(zip(ratios(self.simplified, self.left), self._names(), strict=True))
        steps = sum(len(each.trajectory.passes) for each in self.results) / len(self.results)
        return [
            rank,
            *_of_submission(self.submission),
            f"{self.score:.{_DIGITS}f}",
            f"{worst:.3f} {cell(name)}",
            f"{count_ratio(starts, self.left):.{_DIGITS}f}",
            f"{sum(starts):,} → {sum(self.left):,}",
            _percent(sum(self.left), sum(starts)),
            _percent(sum(self.left), sum(self.simplified)),
            f"{steps:.1f}",
            _compared(self.results),
            *_origin(self.submission),
        ]

    def _names(self) -> list[str]:
        return [each.name for each in self.benchmarks]


def standings(submissions: Iterable[Submission]) -> list[Standing]:
    """Returns the standings of submissions, one for each set and split that they have modules of.

    Raises:
        HloError: The corpus does not have such a module.
    """
    rows = []
    for submission in submissions:
        parts: dict[tuple[str, str], list[tuple[Submitted, Benchmark]]] = defaultdict(list)
        for result in submission.trajectories:
            benchmark = corpus.benchmark(result.benchmark)
            if benchmark.fingerprint != result.trajectory.start_fingerprint:
                raise SubmissionError(
                    f"{submission.name} is about another {benchmark.name}: expected the "
                    f"fingerprint {benchmark.fingerprint}, got "
                    f"{result.trajectory.start_fingerprint}"
                )
            parts[benchmark.set, benchmark.split].append((result, benchmark))
        for pairs in parts.values():
            results, benchmarks = zip(*pairs, strict=True)
            rows.append(Standing(submission, results, benchmarks))
    return rows


def trajectories_part(submissions: Sequence[Submission]) -> str:
    """Returns the tables of trajectories: one for each set of modules, the best first."""
    rows = (
        ((each.part, each.names), (each.score, each.submission.name, each.cells))
        for each in standings(submissions)
    )
    return _in_tables(rows, _HEADS, "module")


def plans_part(submissions: Sequence[Submission]) -> str:
    """Returns the tables of plans: one for each set of programs, the fastest first."""
    rows = list[tuple[_Modules, _Row]]()
    for submission in submissions:
        parts: dict[str, list[SubmittedPlan]] = defaultdict(list)
        for plan in submission.plans:
            parts[corpus.benchmark(plan.benchmark).split].append(plan)
        for split, plans in parts.items():
            score = round(geometric_mean([plan.ratio for plan in plans]), 3)
            programs = f"speed {split}", frozenset(plan.benchmark for plan in plans)
            cells = partial(_plan_cells, submission, plans, score)
            rows.append((programs, (score, submission.name, cells)))
    return _in_tables(rows, _PLAN_HEADS, "program")


def _in_tables(rows: Iterable[tuple[_Modules, _Row]], heads: Sequence[str], noun: str) -> str:
    """Returns a table for each set of modules, with a title; the largest set of a part last."""
    tables: dict[_Modules, list[_Row]] = defaultdict(list)
    for modules, row in rows:
        tables[modules].append(row)
    parts: list[str] = []
    for (part, names), of_set in sorted(
        tables.items(), key=lambda item: (item[0][0], len(item[0][1]))
    ):
        title = f"### {part}: {len(names)} {noun}{'s' * (len(names) > 1)}"
        parts.append(f"{title}\n\n{markdown_table(heads, _ranked(of_set))}")
    return "\n\n".join(parts) or "There is none yet."


def _plan_cells(
    submission: Submission, plans: Sequence[SubmittedPlan], score: float, rank: str
) -> list[str]:
    """Returns the cells of the row of a submission's plans."""
    slowest = min(plans, key=lambda plan: plan.ratio)
    machines = dict.fromkeys(str(plan.plan.machine) for plan in plans)
    return [
        rank,
        *_of_submission(submission),
        f"{score:.3f}",
        f"{slowest.ratio:.3f} {cell(slowest.benchmark)}",
        _compared(plans),
        "; ".join(map(cell, machines)),
        *_origin(submission),
    ]


def cell(text: str) -> str:
    """Returns text that stands in a cell as it is, whatever a submission puts into it."""
    return re.sub(r"([\\`*_{}\[\]<>()#|!~&])", r"\\\1", text)


def _ranked(rows: Iterable[_Row]) -> list[list[str]]:
    """Returns the cells of rows, the greatest score first; equal scores share a rank.

    Args:
        rows: The rows.
    """
    ordered = sorted(rows, key=lambda row: (-row[0], row[1]))
    scores = [score for score, _, _ in ordered]
    return [
        make(f"{scores.index(score) + 1}{'=' * (scores.count(score) > 1)}")
        for score, _, make in ordered
    ]


def _of_submission(submission: Submission) -> list[str]:
    about = f": {cell(submission.about)}" if submission.about else ""
    return [f"{cell(submission.name)}{about}", submission.category]


def _origin(submission: Submission) -> list[str]:
    commit, changes = submission.commit[:10], "+changes" * ("+" in submission.commit)
    return [cell(submission.authors), f"`{commit}{changes}`" if commit else ""]


def _compared(results: Sequence[Submitted] | Sequence[SubmittedPlan]) -> str:
    compared = sum(result.outputs != "not comparable" for result in results)
    return f"{compared} of {len(results)}"


def _percent(after: int, before: int) -> str:
    change = 100 * (after - before) / before if before else math.nan
    return f"{change:+.1f} %"


def load(folder: Path) -> list[Submission]:
    """Returns the submissions in a folder, by the order of the files' names.

    Raises:
        HloError: A file is no submission, or is not called by its name.
    """
    submissions = []
    for path in sorted(folder.glob("*.json")):
        submissions.append(Submission.load(path))
        if path.stem != submissions[-1].name:
            raise SubmissionError(f"expected {submissions[-1].name}.json, got {path.name}")
    if not submissions:
        raise SubmissionError(f"expected submissions in {folder}, found none")
    return submissions


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the page that a command line asks for, and returns the exit status."""
    prog = "python -m benchmarks.board"
    config = tyro.cli(BoardConfig, args=arguments, prog=prog, description=__doc__)
    try:
        submissions = load(config.folder)
        parts = {"trajectories": trajectories_part(submissions), "plans": plans_part(submissions)}
        if config.page is None:
            print("\n\n".join(parts.values()))
        else:
            write_parts(parts, config.page)
    except (HloError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
