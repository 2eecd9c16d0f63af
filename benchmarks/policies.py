"""Steps a second of the policies while they only play: rollouts, no updates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from benchmarks.labels import LEARNERS, workers_label
from benchmarks.learning import loops_of, subjects
from benchmarks.loops import Loop
from benchmarks.results import Figure
from benchmarks.settings import Settings
from benchmarks.subjects import names_near
from benchmarks.throughput import TWO_OVER_ONE
from benchmarks.timing import spread
from experiments.learner import LearnerName

TITLE = "Steps a second of policies that play"

__all__ = ["TITLE", "measure", "subjects"]


def measure(settings: Settings) -> Iterator[Figure]:
    """Measures both policies with numbers of workers that take turns."""
    for size in settings.learning_sizes:
        names = names_near(size, settings.modules)
        for learner in get_args(LearnerName):
            with loops_of(learner, names, settings) as loops:
                speeds = _speeds(loops, settings.iterations)
            yield from _figures(LEARNERS[learner], f"{size:,}", speeds)


def _speeds(loops: list[Loop], rounds: int) -> dict[int, list[float]]:
    """Steps a second by number of workers, round by round; the first round is not timed."""
    speeds: dict[int, list[float]] = {loop.workers: [] for loop in loops}
    for number in range(rounds + 1):
        for loop in loops:
            timed = loop.iterate(learn=False)
            if number:
                speeds[loop.workers].append(timed.frames / timed.collect)
    return speeds


def _figures(label: str, column: str, speeds: dict[int, list[float]]) -> Iterator[Figure]:
    one = min(speeds)
    for count, found in speeds.items():
        yield Figure.of(workers_label(label, count), column, spread(found), "1/s")
    for count, found in speeds.items():
        if count == one:
            continue
        ratio = spread(a / b for a, b in zip(found, speeds[one], strict=True))
        aim = TWO_OVER_ONE if (one, count) == (1, 2) else None
        yield Figure.of(f"{label}, {count} over {one}", column, ratio, "x", aim)
