"""Measures steps per second of policies that play and do not learn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from benchmarks.labels import LEARNERS, workers_label
from benchmarks.learning import iterations, loops_of
from benchmarks.progress import tracked
from benchmarks.results import Figure
from benchmarks.settings import Settings
from benchmarks.subjects import learning_subjects, names_near
from benchmarks.throughput import TWO_OVER_ONE
from benchmarks.timing import over_fewest
from hlograph.timing.bootstrap import Interval

TITLE = "Steps a second of policies that play"
subjects = learning_subjects


def measure(settings: Settings) -> Iterator[Figure]:
    """Measures both policies with numbers of workers that take turns."""
    parts = list(product(settings.learning_sizes, LEARNERS))
    for size, kind in tracked(parts, "policy"):
        names = names_near(size, settings.modules)
        with loops_of(kind, names, settings) as loops:
            timed = iterations(loops, settings.iterations, learn=False)
        speeds = {count: [t.frames / t.collect for t in found] for count, found in timed.items()}
        yield from _figures(LEARNERS[kind], f"{size:,}", speeds)


def _figures(label: str, column: str, speeds: dict[int, list[float]]) -> Iterator[Figure]:
    for count, found in speeds.items():
        yield Figure.of(workers_label(label, count), column, Interval.quartiles(found), "1/s")
    for count, one, ratio in over_fewest(speeds):
        aim = TWO_OVER_ONE if (one, count) == (1, 2) else None
        yield Figure.of(f"{label}, {count} over {one}", column, ratio, "x", aim)
