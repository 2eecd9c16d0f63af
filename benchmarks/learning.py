"""Frames a second of the whole PPO loop, and where its time goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import get_args

from benchmarks.labels import LEARNERS, SECTIONS, section_label, workers_label
from benchmarks.loops import Loop, Timed
from benchmarks.results import Aim, Figure
from benchmarks.settings import Settings
from benchmarks.subjects import described, names_near
from benchmarks.timing import spread
from experiments.learner import LearnerName

TITLE = "The whole PPO loop"
_AIMS = {300: Aim(1_000, at_most=False), 8_000: Aim(100, at_most=False)}


def measure(settings: Settings) -> Iterator[Figure]:
    """Trains both policies for some iterations, numbers of workers taking turns."""
    for size in settings.learning_sizes:
        names = names_near(size, settings.modules)
        for learner in get_args(LearnerName):
            with loops_of(learner, names, settings) as loops:
                timed = iterations(loops, settings.iterations)
            yield from _figures(learner, size, timed)


def subjects(settings: Settings) -> dict[str, str]:
    """What stands behind the columns."""
    return {
        f"{size:,}": described(names_near(size, settings.modules))
        for size in settings.learning_sizes
    }


@contextmanager
def loops_of(
    learner: LearnerName, names: Sequence[str], settings: Settings
) -> Iterator[list[Loop]]:
    """A loop for each number of workers."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(Loop(learner, names, count, settings)) for count in settings.workers
        ]


def iterations(loops: list[Loop], rounds: int) -> dict[int, list[Timed]]:
    """Iterations by number of workers; each loop's first, which reads modules, is left out."""
    timed: dict[int, list[Timed]] = {loop.workers: [] for loop in loops}
    for number in range(rounds + 1):
        for loop in loops:
            found = loop.iterate()
            if number:
                timed[loop.workers].append(found)
    return timed


def _figures(learner: LearnerName, size: int, timed: dict[int, list[Timed]]) -> Iterator[Figure]:
    label, column = LEARNERS[learner], f"{size:,}"
    one, most = min(timed), max(timed)
    for count, found in timed.items():
        speeds = spread(t.frames_per_second for t in found)
        aim = _AIMS.get(size) if learner == "gnn" and count == most else None
        yield Figure.of(workers_label(label, count), column, speeds, "frames/s", aim)
    for count, found in timed.items():
        if count != one:
            pairs = zip(found, timed[one], strict=True)
            ratio = spread(a.frames_per_second / b.frames_per_second for a, b in pairs)
            yield Figure.of(f"{label}, {count} over {one}", column, ratio, "x")
    for count, found in timed.items():
        for section in SECTIONS:
            each = spread(1e3 * t.sections.get(section, 0.0) / t.frames for t in found)
            yield Figure.of(section_label(label, count, section), column, each, "ms/frame")
