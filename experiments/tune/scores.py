"""Scores of competitors: means over programs, shares, and what was found by when."""

import math
import statistics
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from experiments.evaluate.metrics import geometric_mean
from experiments.tune.results import CurvePoint, RaceResult
from hlograph.execution.bootstrap import bootstrap_interval

TIMES = (10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""Seconds of a race at which it is asked what it has found."""


@dataclass(frozen=True)
class Coverage:
    """Counts programs with a verdict of references on jaxlib's default, and what that cost."""

    results: Sequence[RaceResult]
    """Results of races, each of which notes what references took."""

    def judged_by(self, seconds: float) -> int:
        """Returns the number of races with a verdict after some seconds."""
        return sum(
            result.verdict != "no reference"
            and result.judged is not None
            and result.judged <= seconds
            for result in self.results
        )

    def count(self, verdict: str) -> int:
        """Returns the number of races with a verdict at their end."""
        return sum(result.verdict == verdict for result in self.results)

    @property
    def work(self) -> float:
        """Median share of the time of all processes that references took; nan of no race."""
        return _median([result.judging_work for result in self.results])

    @property
    def wall(self) -> float:
        """Median share of the time of the race that references took; nan of no race."""
        return _median([result.judging_wall for result in self.results])


@dataclass(frozen=True)
class Scores:
    """Results of all competitors, on the programs that each of them has a result of."""

    results: Sequence[RaceResult]
    """Results on these programs."""
    not_compared: Mapping[str, str]
    """Programs that not all competitors have a result of, and the reason why they could not be
    measured; empty if there is another result to come."""

    @classmethod
    def of(cls, results: Sequence[RaceResult]) -> "Scores":
        """Returns the scores of a run, which may be unfinished."""
        competitors = _names(results)
        programs = dict.fromkeys(result.program for result in results)
        # A winner that was not measured a second time yet has no ratio.
        failed = {r.program for r in results if r.error or not r.is_final}
        having = {(r.competitor, r.program) for r in results}
        common = {
            program
            for program in programs
            if program not in failed and all((name, program) in having for name in competitors)
        }
        return cls(
            [result for result in results if result.program in common],
            {
                program: next((r.error for r in results if r.program == program and r.error), "")
                for program in programs
                if program not in common
            },
        )

    @property
    def competitors(self) -> list[str]:
        """Names of the competitors."""
        return _names(self.results)

    @property
    def programs(self) -> list[str]:
        """Names of the programs."""
        return list(dict.fromkeys(result.program for result in self.results))

    @property
    def seeds(self) -> list[int]:
        """The seeds."""
        return sorted({result.seed for result in self.results})

    def of_competitor(self, competitor: str) -> list[RaceResult]:
        """Returns the results of a competitor."""
        return [result for result in self.results if result.competitor == competitor]

    def coverage(self, competitor: str) -> Coverage:
        """Returns how many programs have a verdict, of races that note what references took."""
        results = self.of_competitor(competitor)
        return Coverage([result for result in results if result.judging_wall is not None])

    def of_program(self, competitor: str, program: str) -> list[RaceResult]:
        """Returns the results of a competitor on a program, one for each seed."""
        return [r for r in self.of_competitor(competitor) if r.program == program]

    def by_program(
        self, competitor: str, value: Callable[[RaceResult], float] = lambda result: result.ratio
    ) -> dict[str, float]:
        """Returns a value of each program: its geometric mean over the seeds."""
        by_program: dict[str, list[float]] = {program: [] for program in self.programs}
        for result in self.of_competitor(competitor):
            by_program[result.program].append(value(result))
        return {program: geometric_mean(values) for program, values in by_program.items()}

    def by_seed(self, competitor: str) -> dict[int, float]:
        """Returns the geometric mean over programs for each seed."""
        by_seed: dict[int, list[float]] = {}
        for result in self.of_competitor(competitor):
            by_seed.setdefault(result.seed, []).append(result.ratio)
        return {seed: geometric_mean(values) for seed, values in sorted(by_seed.items())}

    def beside(self, competitor: str, other: str) -> tuple[float, float, float]:
        """Returns how much faster the plans of one competitor are than those of another one.

        Returns:
            Geometric mean over programs, and its interval.
        """
        mine, theirs = self.by_program(competitor), self.by_program(other)
        ratios = [mine[program] / theirs[program] for program in self.programs]
        return geometric_mean(ratios), *bootstrap_interval(ratios)

    def by_when(self, competitor: str, seconds: float) -> float:
        """Returns the geometric mean of the best screening ratios after some seconds of a race."""
        values = self.by_program(competitor, lambda result: best_at(result.curve, seconds))
        return geometric_mean(list(values.values()))

    def seconds_to(self, competitor: str, ratio: float) -> float:
        """Returns the seconds of a race after which ``by_when`` has reached a ratio; inf if never.

        All programs are raced for as long as each other, so the seconds are those of each of them.
        """
        curves = [result.curve for result in self.of_competitor(competitor)]
        moments = sorted({point.seconds for curve in curves for point in curve})
        number = bisect_left(moments, ratio, key=lambda moment: self.by_when(competitor, moment))
        return moments[number] if number < len(moments) else math.inf

    def at_the_end(self, competitor: str) -> float:
        """Returns the geometric mean of the best screening ratios at the end of the races."""
        return self.by_when(competitor, math.inf)


def best_at(curve: Sequence[CurvePoint], seconds: float) -> float:
    """Returns the best screening ratio after some seconds of a race; 1 is jaxlib's default."""
    return max((point.best for point in curve if point.seconds <= seconds), default=1.0)


def _median(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else math.nan


def _names(results: Sequence[RaceResult]) -> list[str]:
    return list(dict.fromkeys(result.competitor for result in results))
