"""Random search."""

from __future__ import annotations

import numpy as np

from hlograph.tuning.knobs import Point
from hlograph.tuning.searcher import Result, Space
from hlograph.tuning.searchers.knob_lists import KnobLists
from hlograph.tuning.searchers.memory import Memory
from hlograph.tuning.searchers.mutation import mutated

TRIES = 1000
"""A searcher that draws so many known points in a row has no others."""


class Random:
    """Proposes random changes of the best point or of the default, each half of the time.

    The number of changed knobs is geometric, two on average; knobs are drawn in proportion to their
    share of the time and a floor.

    Args:
        space: The space.
        seed: Seed of all draws.
    """

    def __init__(self, space: Space, seed: int = 0) -> None:
        self._lists = KnobLists(space)
        self._random = np.random.default_rng(seed)
        self._memory = Memory()

    def ask(self) -> Point | None:
        """Returns a point that is not known; None if it draws only known ones."""
        for _ in range(TRIES):
            base = Point() if self._random.random() < 0.5 else self._memory.best
            if not (knobs := self._lists.at(base)):
                continue
            point = mutated(base, knobs, self._random)
            if self._memory.is_new(point):
                return self._memory.propose(point)
        return None

    def tell(self, point: Point, result: Result) -> None:
        """Takes note of a point's result, also of one that it has not proposed."""
        self._memory.tell(point, result)
