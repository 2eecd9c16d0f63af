"""Random search."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from hlograph.tuning.knobs import STAGES, Point, Stage
from hlograph.tuning.searcher import Result, Space
from hlograph.tuning.searchers.knob_lists import KnobLists
from hlograph.tuning.searchers.memory import Memory
from hlograph.tuning.searchers.mutation import mutated

TRIES = 1000
"""A searcher that draws so many known points in a row has no others."""


class Random:
    """Proposes random changes of the best point or of the start, each half of the time.

    The number of changed knobs is geometric, two on average; knobs are drawn in proportion to their
    share of the time and a floor.

    Args:
        space: The space.
        seed: Seed of all draws.
        start: Point to begin with.
        stages: Stages whose knobs are changed.
    """

    def __init__(
        self,
        space: Space,
        seed: int = 0,
        *,
        start: Point = Point(),  # noqa: B008 (points are frozen)
        stages: Collection[Stage] = STAGES,
    ) -> None:
        self._start = start
        self._lists = KnobLists(space, stages)
        self._random = np.random.default_rng(seed)
        self._memory = Memory()

    def ask(self) -> Point | None:
        """Returns a point that is not known; None if it draws only known ones."""
        if self._memory.is_new(self._start):
            return self._memory.propose(self._start)
        for _ in range(TRIES):
            base = self._start if self._random.random() < 0.5 else self._memory.best
            if not (knobs := self._lists.at(base)):
                continue
            point = mutated(base, knobs, self._random)
            if self._memory.is_new(point):
                return self._memory.propose(point)
        return None

    def tell(self, point: Point, result: Result) -> None:
        """Takes note of a point's result, also of one that it has not proposed."""
        self._memory.tell(point, result)
