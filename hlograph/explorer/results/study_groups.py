"""Comparison of the methods of a study with references, on one group of benchmarks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from statistics import fmean
from typing import Any

from hlograph.execution.bootstrap import Interval

BETTER = "the better of both"
"""Reference that is on each benchmark the better one of ``xla-cpu`` and ``xla-simplify``."""
BEST_KNOWN = "best known"
_BOTH = ("xla-cpu", "xla-simplify")
_ORDER = ("xla-cpu", "xla-cpu-unexpanded", "xla-simplify")


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
        known = {name for b in self.benchmarks for name in self._references[b]["after"]}
        return [*(n for n in _ORDER if n in known), *sorted(known.difference(_ORDER))]

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
        known = {b: self.reference(b, against) for b in counts}
        return geometric_mean([known[b] / n for b, n in counts.items() if known[b]])  # pyright: ignore[reportOptionalOperand]

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
        found = [self.ratio(trial, against) for trial in self.of(method)]
        found = [value for value in found if not math.isnan(value)]
        return Interval(fmean(found), min(found), max(found)) if found else None

    def mean_count(self, method: str, benchmark: str) -> float | None:
        """Returns the mean op count of a benchmark over the seeds of a method."""
        found = [self.counts(trial).get(benchmark) for trial in self.of(method)]
        known = [count for count in found if count is not None]
        return fmean(known) if known else None


def geometric_mean(values: Sequence[float]) -> float:
    """Returns the geometric mean of positive values; nan of none."""
    if not values:
        return math.nan
    return math.exp(math.fsum(map(math.log, values)) / len(values))
