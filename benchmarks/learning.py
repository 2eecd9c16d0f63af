"""Frames a second of the whole PPO loop, and where its time goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import get_args

from benchmarks.labels import LEARNERS, SECTIONS, section_label, workers_label
from benchmarks.loops import Loop, Timed
from benchmarks.results import Aim, Figure
from benchmarks.settings import Settings
from benchmarks.subjects import learning_subjects, names_near
from benchmarks.timing import over_fewest, spread
from experiments.policies.learner import LearnerName

TITLE = "The whole PPO loop"
subjects = learning_subjects
_AIMS = {300: Aim(1_000, at_most=False), 8_000: Aim(100, at_most=False)}


def measure(settings: Settings) -> Iterator[Figure]:
    """Trains both policies for some iterations, numbers of workers taking turns."""
    for size in settings.learning_sizes:
        names = names_near(size, settings.modules)
        for learner in get_args(LearnerName):
            with loops_of(learner, names, settings) as loops:
                timed = iterations(loops, settings.iterations)
            yield from _figures(learner, size, timed)


@contextmanager
def loops_of(
    learner: LearnerName, names: Sequence[str], settings: Settings
) -> Iterator[list[Loop]]:
    """A loop for each number of workers."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(Loop(learner, names, count, settings)) for count in settings.workers
        ]


def iterations(loops: list[Loop], rounds: int, *, learn: bool = True) -> dict[int, list[Timed]]:
    """Iterations by number of workers; each loop's first, which reads modules, is left out.

    Args:
        loops: The loops, which take turns.
        rounds: Iterations of each that count.
        learn: Whether they update, or only play.
    """
    timed: dict[int, list[Timed]] = {loop.workers: [] for loop in loops}
    for number in range(rounds + 1):
        for loop in loops:
            found = loop.iterate(learn=learn)
            if number:
                timed[loop.workers].append(found)
    return timed


def _figures(learner: LearnerName, size: int, timed: dict[int, list[Timed]]) -> Iterator[Figure]:
    label, column = LEARNERS[learner], f"{size:,}"
    speeds = {count: [t.frames_per_second for t in found] for count, found in timed.items()}
    for count, found in speeds.items():
        aim = _AIMS.get(size) if learner == "gnn" and count == max(timed) else None
        yield Figure.of(workers_label(label, count), column, spread(found), "frames/s", aim)
    for count, one, ratio in over_fewest(speeds):
        yield Figure.of(f"{label}, {count} over {one}", column, ratio, "x")
    for count, found in timed.items():
        for section in SECTIONS:
            each = spread(1e3 * t.sections.get(section, 0.0) / t.frames for t in found)
            yield Figure.of(section_label(label, count, section), column, each, "ms/frame")
