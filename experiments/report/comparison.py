"""Trials against references: the values of which tables and pictures are made.

Everything is computed over the benchmarks that have the reference in question; how many
these are is told where they are not all.
"""

import math
from collections.abc import Callable, Sequence
from statistics import median

from experiments.outcomes.benchmarks import REFERENCES
from experiments.outcomes.evaluation import Outcome
from experiments.outcomes.metrics import (
    Reduction,
    better_of,
    geometric_mean,
    ratios,
    reduction_ratio,
    share,
    share_within,
    worst,
)
from experiments.outcomes.study import Study, Trial

BETTER = "the better of both"
"""Per benchmark, the better of the pipelines in ``REFERENCES``."""
BEST_KNOWN = "best known"
AGAINST = ("xla-cpu", "xla-cpu-unexpanded", "xla-simplify", BETTER)
"""References in the order in which they are shown."""
Measure = Callable[[Trial], float]


class Comparison:
    """The trials of one group of benchmarks of a study.

    Args:
        study: The study.
        group: Name of the group.
    """

    def __init__(self, study: Study, group: str) -> None:
        self.study, self.group = study, group
        self.methods = study.methods(group)

    def reference(self, benchmark: str, against: str) -> int | None:
        """Op count that a reference leaves of a benchmark; None if it is not known."""
        if against == BEST_KNOWN:
            return self.study.best_known.get(benchmark)
        after = self.study.references[benchmark].after
        return better_of(after, REFERENCES if against == BETTER else (against,))

    def against(self) -> list[str]:
        """The references that any benchmark of the group has, but for the best known."""
        names = {o.benchmark for t in self.trials() for o in t.outcomes}
        return [a for a in AGAINST if any(self.reference(n, a) is not None for n in names)]

    def trials(self) -> list[Trial]:
        """All trials of the group, method by method."""
        return [t for method in self.methods for t in self.study.of(method, self.group)]

    def over_seeds(self, method: str, measure: Measure) -> list[float]:
        """A measure of each trial of a method."""
        return [measure(trial) for trial in self.study.of(method, self.group)]

    def ratios(self, trial: Trial, against: str) -> dict[str, float]:
        """Reference / method of each benchmark that has the reference, by name."""
        found = self._known(trial, against)
        values = ratios([r for _, r in found], [o.op_count for o, _ in found])
        return {o.benchmark: value for (o, _), value in zip(found, values, strict=True)}

    def count_ratio(self, against: str) -> Measure:
        """The count ratio against a reference."""
        return lambda trial: geometric_mean(list(self.ratios(trial, against).values()))

    def worst(self, against: str) -> Measure:
        """The least ratio of any benchmark against a reference."""
        return lambda trial: worst(list(self.ratios(trial, against).values()))

    def share_at_least(self, against: str) -> Measure:
        """Share of benchmarks on which the method is at least as good as a reference."""
        return lambda trial: share(list(self.ratios(trial, against).values()), 1.0)

    def distance(self, trial: Trial) -> float:
        """Geometric mean of op count / least known op count; 1 at best."""
        return geometric_mean([1 / r for r in self.ratios(trial, BEST_KNOWN).values()])

    def within(self, tolerance: float) -> Measure:
        """Share of benchmarks whose op count is within a tolerance of the best known."""

        def measure(trial: Trial) -> float:
            found = self._known(trial, BEST_KNOWN)
            return share_within([r for _, r in found], [o.op_count for o, _ in found], tolerance)

        return measure

    def reduction(self, trial: Trial, against: str) -> Reduction:
        """The paper's reduction ratio."""
        found = self._known(trial, against)
        return reduction_ratio(
            [o.benchmark for o, _ in found],
            [o.start for o, _ in found],
            [r for _, r in found],
            [o.op_count for o, _ in found],
        )

    def reduction_ratio(self, against: str) -> Measure:
        """The paper's reduction ratio, as a number."""
        return lambda trial: self.reduction(trial, against).ratio

    def calls_share(self, pipeline: str) -> Measure:
        """Geometric mean of the method's pass calls / a pipeline's.

        A method that calls none counts as one call, since 0 would make the mean 0.
        """

        def measure(trial: Trial) -> float:
            calls = [
                (o.calls, self.study.references[o.benchmark].calls.get(pipeline))
                for o in trial.outcomes
            ]
            return geometric_mean([max(own, 1) / theirs for own, theirs in calls if theirs])

        return measure

    def _known(self, trial: Trial, against: str) -> list[tuple[Outcome, int]]:
        """Outcomes that count, beside the reference, where there is one."""
        pairs = [(o, self.reference(o.benchmark, against)) for o in trial.counted()]
        return [(o, r) for o, r in pairs if r is not None]


def median_calls(trial: Trial) -> float:
    """Median over benchmarks of the pass calls."""
    return _median([o.calls for o in trial.outcomes])


def median_passes(trial: Trial) -> float:
    """Median over benchmarks of the passes that changed something."""
    return _median([len(o.passes) for o in trial.outcomes])


def median_milliseconds(trial: Trial) -> float:
    """Median over benchmarks of the wall time, in ms; nan if it was not measured."""
    return 1e3 * _median(trial.seconds)


def _median(values: Sequence[float]) -> float:
    return median(values) if values else math.nan
