"""The page of a study: what experiments.paper and experiments.evaluate have written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from hlograph.execution.bootstrap import Interval
from hlograph.explorer.results.tables import (
    Bars,
    Cell,
    Lines,
    PageColumn,
    PageSection,
    PageTable,
    Results,
    made_with,
)
from hlograph.storage.checked_file import read_checked_json

BETTER = "the better of both"
"""Reference that is on each benchmark the better one of ``xla-cpu`` and ``xla-simplify``."""
BEST_KNOWN = "best known"
_BOTH = ("xla-cpu", "xla-simplify")
_ORDER = ("xla-cpu", "xla-cpu-unexpanded", "xla-simplify", "hlograph-simplify")


class StudyGroup:
    """The trials of one group of benchmarks.

    Args:
        content: Content of the study's file.
        name: Name of the group.
    """

    def __init__(self, content: Mapping[str, Any], name: str) -> None:
        self.name = name
        self.trials = [trial for trial in content["trials"] if trial["group"] == name]
        self.methods = list(dict.fromkeys(trial["method"] for trial in self.trials))
        self._references, self._best_known = content["references"], content.get("best_known") or {}

    @cached_property
    def benchmarks(self) -> list[str]:
        """Names of the benchmarks, in the order of the trials."""
        return list(dict.fromkeys(o["benchmark"] for t in self.trials for o in t["outcomes"]))

    @cached_property
    def pipelines(self) -> list[str]:
        """The reference pipelines that any benchmark of the group has."""
        pipelines = {name for b in self.benchmarks for name in self._references[b]["after"]}
        return [*(n for n in _ORDER if n in pipelines), *sorted(pipelines.difference(_ORDER))]

    @cached_property
    def against(self) -> list[str]:
        """The references that methods are compared with."""
        both = all(name in self.pipelines for name in _BOTH)
        return [*self.pipelines, *((BETTER,) if both else ())]

    def of(self, method: str) -> list[dict[str, Any]]:
        """Returns the trials of a method, one for each seed."""
        return [trial for trial in self.trials if trial["method"] == method]

    def start(self, benchmark: str) -> int:
        """Returns the op count of a benchmark before any pass."""
        return self._references[benchmark]["start"]

    def reference(self, benchmark: str, against: str) -> int | None:
        """Returns the op count after a reference; None if it is not known."""
        if against == BEST_KNOWN:
            return self._best_known.get(benchmark)
        after = self._references[benchmark]["after"]
        if against == BETTER:
            return min(after[n] for n in _BOTH) if all(n in after for n in _BOTH) else None
        return after.get(against)

    def ratio(self, trial: Mapping[str, Any], against: str) -> float:
        """Returns the geometric mean of reference / op count over the benchmarks that have it."""
        counts = self.counts(trial)
        references = {b: self.reference(b, against) for b in counts}
        return geometric_mean([references[b] / n for b, n in counts.items() if references[b]])  # pyright: ignore[reportOptionalOperand]

    def counts(self, trial: Mapping[str, Any]) -> dict[str, int]:
        """Returns the op count of each benchmark. One that failed its check counts as no passes."""
        checks = trial.get("checks") or [{"problem": None}] * len(trial["outcomes"])
        return {
            outcome["benchmark"]: outcome["start"] if check["problem"] else outcome["op_count"]
            for outcome, check in zip(trial["outcomes"], checks, strict=True)
        }

    def refused(self, method: str) -> int:
        """Returns the number of outcomes of a method that failed their check."""
        return sum(bool(c["problem"]) for t in self.of(method) for c in t.get("checks") or ())

    def over_seeds(self, method: str, against: str) -> Interval | None:
        """Returns the mean of ``ratio`` over seeds, with that of the least and the greatest."""
        ratios = [self.ratio(trial, against) for trial in self.of(method)]
        ratios = [value for value in ratios if not math.isnan(value)]
        return Interval(fmean(ratios), min(ratios), max(ratios)) if ratios else None

    def mean_count(self, method: str, benchmark: str) -> float | None:
        """Returns the mean op count of a benchmark over the seeds of a method."""
        counts = [self.counts(trial).get(benchmark) for trial in self.of(method)]
        reached = [count for count in counts if count is not None]
        return fmean(reached) if reached else None


def geometric_mean(values: Sequence[float]) -> float:
    """Returns the geometric mean of positive values; nan of none."""
    if not values:
        return math.nan
    return math.exp(math.fsum(map(math.log, values)) / len(values))


FILES = ("study.json", "study.json.gz")
"""Names of a study's file."""
_KIND, _VERSION = "study", 1
_POINTS = 80  # of a curve
_RATIO = "reference / method, so above 1 the method leaves fewer instructions"


def study_results(path: Path) -> Results:
    """Returns the page of a study.

    Args:
        path: The study's file.

    Raises:
        DamagedFileError: The file is cut off or altered, or no study of this version.
        OSError: It cannot be read.
    """
    content = read_checked_json(path, _KIND, _VERSION)
    names = dict.fromkeys(trial["group"] for trial in content["trials"])
    groups = [StudyGroup(content, name) for name in names]
    sections = [section for group in groups for section in _sections(group)]
    return Results(
        _title(content, path),
        [*_run_times(content.get("measurements") or {}), *sections],
        [sentence for group in groups if (sentence := _best(group))],
        content.get("notes") or (),
        made_with(content.get("made") or {}),
    )


def _title(content: Mapping[str, Any], path: Path) -> str:
    """Returns the study's name, and that of its folder where this is another one."""
    folder, name = path.resolve().parent.name, content["name"]
    return f"{name if name == folder else f'{name}, {folder}'} ({content['preset']})"


def _best(group: StudyGroup) -> str:
    """Returns which method of a group leaves the fewest instructions."""
    if not group.against:
        return ""
    against = group.against[-1]
    intervals = {method: group.over_seeds(method, against) for method in group.methods}
    measured = {method: interval for method, interval in intervals.items() if interval}
    if not measured:
        return ""
    best = max(measured, key=lambda method: measured[method].value)
    value = measured[best]
    return (
        f"{group.name}: best by count ratio to {against} is {best}, {value.value:.3f} "
        f"(seeds {value.low:.3f} to {value.high:.3f})."
    )


def _sections(group: StudyGroup) -> Iterator[PageSection]:
    if group.against:
        against = BETTER if BETTER in group.against else group.against[0]
        bars = {m: interval for m in group.methods if (interval := group.over_seeds(m, against))}
        note = (
            f"Geometric means of {_RATIO}; mean over seeds, and the least and the greatest seed. "
            f"The bars are ratios to {against}. A result that failed its check counts as no passes."
        )
        yield PageSection(f"Methods: {group.name}", [Bars(1.0, bars), _methods(group)], note)
    yield from _anytime(group)
    yield from _training(group)
    yield PageSection(
        f"Benchmarks: {group.name}", [_benchmarks(group)], "Op counts, mean over seeds."
    )


def _methods(group: StudyGroup) -> PageTable:
    columns = [
        PageColumn("method"),
        PageColumn("seeds", "count"),
        *(
            PageColumn(f"to {name}", "interval", f"Count ratio: {_RATIO}.")
            for name in group.against
        ),
        PageColumn("seconds", "number", "Mean wall seconds for a benchmark."),
        PageColumn("calls", "number", "Mean number of steps for a benchmark."),
        PageColumn("refused", "count", "Outcomes that failed their check."),
    ]
    rows: list[list[Cell]] = []
    for method in group.methods:
        trials = group.of(method)
        seconds = [s for trial in trials for s in trial.get("seconds") or ()]
        calls = [o["calls"] for trial in trials for o in trial["outcomes"]]
        rows.append(
            [
                method,
                len(trials),
                *(group.over_seeds(method, name) for name in group.against),
                fmean(seconds) if seconds else None,
                fmean(calls) if calls else None,
                group.refused(method),
            ]
        )
    return PageTable(columns, rows, sort=1 + len(group.against))


def _benchmarks(group: StudyGroup) -> PageTable:
    compared = [b for b in group.benchmarks if group.reference(b, BEST_KNOWN) is not None]
    references = [*group.pipelines, *((BEST_KNOWN,) if compared else ())]
    columns = [
        PageColumn("benchmark", "program"),
        PageColumn("start", "count", "Instructions before any pass."),
        *(PageColumn(name, "count", "A reference.") for name in references),
        *(PageColumn(method, "number") for method in group.methods),
    ]
    rows = [
        [
            benchmark,
            group.start(benchmark),
            *(group.reference(benchmark, name) for name in references),
            *(group.mean_count(method, benchmark) for method in group.methods),
        ]
        for benchmark in group.benchmarks
    ]
    return PageTable(columns, rows)


def _anytime(group: StudyGroup) -> Iterator[PageSection]:
    """Yields what searches had found after how many steps."""
    searches = [method for method in group.methods if any(t["curves"] for t in group.of(method))]
    choices = (BEST_KNOWN, *reversed(group.pipelines))
    against = next(
        (a for a in choices if all(group.reference(b, a) for b in group.benchmarks)), None
    )
    if not searches or against is None:
        return
    most = max(
        point[0] for t in group.trials for points in t["curves"].values() for point in points
    )
    at = np.unique(np.geomspace(1, max(most, 2), _POINTS).astype(int)).tolist()
    lines = {method: _found_by(group, method, against, at) for method in searches}
    note = f"Op count of {against} / least op count found so far, geometric mean over benchmarks."
    yield PageSection(
        f"At any time: {group.name}", [Lines("steps", f"{against} / found", lines, True)], note
    )


def _found_by(
    group: StudyGroup, method: str, against: str, at: Sequence[int]
) -> list[tuple[float, float]]:
    points = []
    for steps in at:
        ratios = []
        for trial in group.of(method):
            for benchmark, count in group.counts(trial).items():
                curve = trial["curves"].get(benchmark, ())
                counts = [point[2] for point in curve if point[0] <= steps]
                # A result that failed its check counts at no time.
                least = max(min([group.start(benchmark), *counts]), count)
                ratios.append((group.reference(benchmark, against) or math.nan) / least)
        points.append((steps, geometric_mean(ratios)))
    return points


def _training(group: StudyGroup) -> Iterator[PageSection]:
    """Yields the ratios on validation modules during training."""
    for against in group.pipelines:
        lines: dict[str, list[tuple[float, float]]] = {}
        for method in group.methods:
            values: dict[int, list[float]] = {}
            for trial in group.of(method):
                for steps, ratios in trial.get("training") or ():
                    if against in ratios:
                        values.setdefault(steps, []).append(ratios[against])
            if len(values) > 1:
                lines[method] = [(steps, fmean(values[steps])) for steps in sorted(values)]
        if lines:
            title = f"Learning, to {against}: {group.name}"
            note = "Count ratio on validation modules, mean over seeds."
            yield PageSection(title, [Lines("steps of training", "count ratio", lines)], note)


def _run_times(measurements: Mapping[str, Any]) -> Iterator[PageSection]:
    """Yields run times before and after, which were measured in turns."""
    pairs = [pair for pair in measurements.get("pairs") or () if pair["ratios"]]
    if not pairs:
        return
    summaries = measurements.get("summaries") or {}
    bars = {
        name: Interval(summary["geometric_mean"], summary["low"], summary["high"])
        for name, summary in summaries.items()
    }
    columns = [
        PageColumn("benchmark", "program"),
        PageColumn("method"),
        PageColumn("before / after", "interval", "Median over pairs, with its 95 % interval."),
        PageColumn("ms before", "number"),
        PageColumn("ms after", "number"),
        PageColumn("kernels before", "count"),
        PageColumn("kernels after", "count"),
    ]
    rows = [
        [
            pair["benchmark"],
            pair["method"],
            Interval(pair["median"], pair["low"], pair["high"]),
            *(1e3 * pair[side]["median_seconds"] for side in ("before", "after")),
            *(pair[side]["kernels"] for side in ("before", "after")),
        ]
        for pair in pairs
    ]
    note = (
        "Run time before / after, so above 1 is faster after: geometric means over benchmarks with "
        "95 % bootstrap intervals, then each benchmark. The control is a module against itself."
    )
    yield PageSection("Run times", [Bars(1.0, bars), PageTable(columns, rows, sort=2)], note)
