"""Compares trials with references: the values in tables and pictures.

Everything is computed over the benchmarks that have the reference in question. A note gives their
number where they are not all.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import median

from experiments.evaluate.benchmarks import REFERENCES
from experiments.evaluate.evaluation import Outcome
from experiments.evaluate.metrics import (
    Reduction,
    better_of,
    geometric_mean,
    reduction_ratio,
    share,
    share_within,
    worst,
)
from experiments.evaluate.study import Study, Trial
from experiments.paper.report.document import Section
from experiments.paper.settings import BEST_KNOWN

BETTER = "the better of both"
"""Reference that is on each benchmark the better pipeline in ``REFERENCES``."""
AGAINST = ("xla-cpu", "xla-cpu-unexpanded", "xla-simplify", BETTER, "hlograph-simplify")
"""References in the order in which they are shown."""
TrialMeasure = Callable[[Trial], float]


class Comparison:
    """Compares the trials of one group of benchmarks of a study with references.

    Args:
        study: The study.
        group: Name of the group.
    """

    def __init__(self, study: Study, group: str) -> None:
        self.study, self.group = study, group
        self.methods = study.methods(group)

    @property
    def number(self) -> int:
        """Number of the group in the study, from 1; part of the names of its pictures."""
        return 1 + self.study.groups().index(self.group)

    def reference(self, benchmark: str, against: str) -> int | None:
        """Returns the op count after a reference; None if it is not known."""
        if against == BEST_KNOWN:
            return self.study.best_known.get(benchmark)
        after = self.study.references[benchmark].after
        return better_of(after, REFERENCES if against == BETTER else (against,))

    def against(self) -> list[str]:
        """Returns the references that any benchmark of the group has, except the best known."""
        names = {o.benchmark for t in self.trials() for o in t.outcomes}
        return [a for a in AGAINST if any(self.reference(n, a) is not None for n in names)]

    def trials(self) -> list[Trial]:
        """Returns all trials of the group, method by method."""
        return [t for method in self.methods for t in self.study.of(method, self.group)]

    def over_seeds(self, method: str, measure: TrialMeasure) -> list[float]:
        """Returns a measure of each trial of a method."""
        return [measure(trial) for trial in self.study.of(method, self.group)]

    def by_method(self, measure: TrialMeasure) -> dict[str, list[float]]:
        """Returns a measure of each trial, by method."""
        return {method: self.over_seeds(method, measure) for method in self.methods}

    def ratios(self, trial: Trial, against: str) -> dict[str, float]:
        """Returns reference / method of each benchmark that has the reference, by name."""
        return {o.benchmark: r / o.op_count for o, r in self._with_reference(trial, against)}

    def count_ratio(self, against: str) -> TrialMeasure:
        """Returns the measure of the count ratio to a reference."""
        return lambda trial: geometric_mean(list(self.ratios(trial, against).values()))

    def worst(self, against: str) -> TrialMeasure:
        """Returns the measure of the least ratio of any benchmark to a reference."""
        return lambda trial: worst(list(self.ratios(trial, against).values()))

    def share_at_least(self, against: str) -> TrialMeasure:
        """Returns the measure of the share of benchmarks at least as good as a reference."""
        return lambda trial: share(list(self.ratios(trial, against).values()), 1.0)

    def distance(self, trial: Trial) -> float:
        """Returns the geometric mean of op count / least known op count; 1 at best."""
        return geometric_mean([1 / r for r in self.ratios(trial, BEST_KNOWN).values()])

    def within(self, tolerance: float) -> TrialMeasure:
        """Returns the measure of the share of benchmarks near the best known."""

        def measure(trial: Trial) -> float:
            pairs = self._with_reference(trial, BEST_KNOWN)
            return share_within([r for _, r in pairs], [o.op_count for o, _ in pairs], tolerance)

        return measure

    def reduction(self, trial: Trial, against: str) -> Reduction:
        """Returns the paper's reduction ratio and the benchmarks without one."""
        pairs = self._with_reference(trial, against)
        return reduction_ratio(
            [o.benchmark for o, _ in pairs],
            [o.start for o, _ in pairs],
            [r for _, r in pairs],
            [o.op_count for o, _ in pairs],
        )

    def reduction_ratio(self, against: str) -> TrialMeasure:
        """Returns the measure of the paper's reduction ratio."""
        return lambda trial: self.reduction(trial, against).ratio

    def calls_share(self, pipeline: str) -> TrialMeasure:
        """Returns the measure of the geometric mean of the method's pass calls / a pipeline's.

        A method that calls none counts as one call, since 0 would make the mean 0.
        """

        def measure(trial: Trial) -> float:
            calls = [
                (o.calls, self.study.references[o.benchmark].calls.get(pipeline))
                for o in trial.outcomes
            ]
            return geometric_mean([max(own, 1) / theirs for own, theirs in calls if theirs])

        return measure

    def _with_reference(self, trial: Trial, against: str) -> list[tuple[Outcome, int]]:
        """Returns outcomes with their reference, where there is one."""
        pairs = [(o, self.reference(o.benchmark, against)) for o in trial.counted()]
        return [(o, r) for o, r in pairs if r is not None]


def for_each_group(
    make: Callable[[Comparison], Iterable[Section]],
) -> Callable[[Study], list[Section]]:
    """Turns a function that makes the sections of one group into one for all groups of a study."""

    def sections(study: Study) -> list[Section]:
        return [section for g in study.groups() for section in make(Comparison(study, g))]

    return sections


def median_calls(trial: Trial) -> float:
    """Returns the median over benchmarks of the pass calls."""
    return _median([o.calls for o in trial.outcomes])


def median_passes(trial: Trial) -> float:
    """Returns the median over benchmarks of the passes that changed something."""
    return _median([len(o.passes) for o in trial.outcomes])


def median_milliseconds(trial: Trial) -> float:
    """Returns the median over benchmarks of the wall time in ms; nan if not measured."""
    return 1e3 * _median(trial.seconds)


def _median(values: Sequence[float]) -> float:
    return median(values) if values else math.nan
