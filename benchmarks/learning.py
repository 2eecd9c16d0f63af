"""Measures frames per second of the whole PPO loop, and the time of its sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product

from benchmarks.loops import Loop, Timed
from benchmarks.results import (
    LEARNERS,
    SECTIONS,
    Aim,
    Figure,
    Learner,
    section_label,
    workers_label,
)
from benchmarks.settings import Settings
from benchmarks.subjects import learning_subjects, names_near
from benchmarks.timing import over_fewest, tracked
from hlograph.execution.bootstrap import Interval

TITLE = "The whole PPO loop"
subjects = learning_subjects
_AIMS = {300: Aim(2_500, at_most=False), 8_000: Aim(200, at_most=False)}
_RATIO_AIM = Aim(1.8, at_most=False)


def measure(settings: Settings) -> Iterator[Figure]:
    """Trains both policies for some iterations, numbers of workers taking turns."""
    parts = list(product(settings.learning_sizes, LEARNERS))
    for size, learner in tracked(parts, "policy"):
        names = names_near(size, settings.modules)
        with loops_of(learner, names, settings) as loops:
            timed = iterations(loops, settings.iterations)
        yield from _figures(learner, size, timed)


@contextmanager
def loops_of(learner: Learner, names: Sequence[str], settings: Settings) -> Iterator[list[Loop]]:
    """Yields a loop for each number of workers."""
    policy, preset = learner
    with ExitStack() as stack:
        yield [
            stack.enter_context(Loop(policy, names, count, settings, preset))
            for count in settings.workers
        ]


def iterations(loops: list[Loop], rounds: int) -> dict[int, list[Timed]]:
    """Times iterations by number of workers, without each loop's first, which reads modules.

    Args:
        loops: The loops, which take turns.
        rounds: Iterations of each that count.
    """
    timed: dict[int, list[Timed]] = {loop.workers: [] for loop in loops}
    for number in range(rounds + 1):
        for loop in loops:
            iteration = loop.iterate()
            if number:
                timed[loop.workers].append(iteration)
    return timed


def _figures(learner: Learner, size: int, timed: dict[int, list[Timed]]) -> Iterator[Figure]:
    label, column = LEARNERS[learner], f"{size:,}"
    speeds = {count: [t.frames_per_second for t in each] for count, each in timed.items()}
    for count, speed in speeds.items():
        aim = _AIMS.get(size) if learner.policy == "gnn" and count == max(timed) else None
        yield Figure.of(
            workers_label(label, count), column, Interval.quartiles(speed), "frames/s", aim
        )
    for count, fewest, ratio in over_fewest(speeds):
        yield Figure.of(f"{label}, {count} over {fewest}", column, ratio, "x", _RATIO_AIM)
    for count, iterations_of in timed.items():
        for section in SECTIONS:
            each = Interval.quartiles(
                1e3 * t.sections.get(section, 0.0) / t.frames for t in iterations_of
            )
            yield Figure.of(section_label(label, count, section), column, each, "ms/frame")
