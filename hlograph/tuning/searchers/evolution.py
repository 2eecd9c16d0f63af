"""Evolution of a small population of points, as in TVM's MetaSchedule."""

from __future__ import annotations

import numpy as np

from hlograph.tuning.knobs import DEFAULT, Point
from hlograph.tuning.searcher import Result, Space
from hlograph.tuning.searchers.knob_lists import KnobLists
from hlograph.tuning.searchers.memory import Memory
from hlograph.tuning.searchers.mutation import mutated
from hlograph.tuning.searchers.random import TRIES

_FRESH, _CROSSOVER = 0.05, 0.3
"""Probabilities of a point around the default, and of a child of two parents; else one mutates."""


class Evolution:
    """Proposes mutations and crossovers of the best points that were told.

    The population is made again for each proposal, of all results: the fastest points, however they
    were found. Parents are drawn with weights 1, 1/2, 1/3 and so on by rank. This is the search of
    MetaSchedule (Shao et al. 2022, "Tensor program optimization with probabilistic programs",
    arXiv:2205.13603), whose population comes from the database of measurements, with crossover and
    without a cost model: what is proposed is measured.

    Args:
        space: The space.
        seed: Seed of all draws.
        population: Number of points that may be parents.
        initial: Number of parents below which points are drawn around the default.
    """

    def __init__(
        self,
        space: Space,
        seed: int = 0,
        *,
        population: int = 16,
        initial: int = 8,
    ) -> None:
        self._lists = KnobLists(space)
        self._random = np.random.default_rng(seed)
        self._population, self._initial = population, initial
        self._memory = Memory()

    def ask(self) -> Point | None:
        """Returns a point that is not known; None if it draws only known ones."""
        parents = self._parents()
        for _ in range(TRIES):
            point = self._child(parents)
            if self._memory.is_new(point):
                return self._memory.propose(point)
        return None

    def tell(self, point: Point, result: Result) -> None:
        """Takes note of a point's result, also of one that it has not proposed."""
        self._memory.tell(point, result)

    def _parents(self) -> list[Point]:
        """Returns the population, the fastest first."""
        ranked = sorted(self._memory.good(), key=lambda told: -told[1].ratio)
        return [point for point, _ in ranked[: self._population]]

    def _child(self, parents: list[Point]) -> Point:
        kind = self._random.random()
        if len(parents) < self._initial or kind < _FRESH:
            return self._mutant(Point())
        if kind < _FRESH + _CROSSOVER and len(parents) > 1:
            first, second = self._drawn(parents, 2)
            return self._crossed(first, second)
        return self._mutant(*self._drawn(parents, 1))

    def _drawn(self, parents: list[Point], number: int) -> list[Point]:
        weights = 1 / np.arange(1, len(parents) + 1)
        drawn = self._random.choice(len(parents), number, replace=False, p=weights / weights.sum())
        return [parents[index] for index in drawn]

    def _mutant(self, point: Point) -> Point:
        knobs = self._lists.at(point)
        return mutated(point, knobs, self._random) if knobs else point

    def _crossed(self, first: Point, second: Point) -> Point:
        """Returns a point that has each value of one of two points."""
        values = first.values, second.values
        names = sorted({name for one in values for name in one})
        sides = self._random.integers(2, size=len(names))
        return Point.of(
            {name: values[side].get(name, DEFAULT) for name, side in zip(names, sides, strict=True)}
        )
