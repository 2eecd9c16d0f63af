"""Searches that draw: random changes, and evolution of a small population as in MetaSchedule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlograph.optimization.methods.knob_search import KnobSearch, Space
from hlograph.plans.knobs import DEFAULT, Knob, Point

TRIES = 1000
"""A search that draws so many known points in a row has no others."""

_FLOOR = 0.02
"""Share that is added to those of all knobs, so that each one is changed at times."""

_FRESH, _CROSSOVER = 0.05, 0.3
"""Probabilities of a point around the default, and of a child of two parents; else one mutates."""


def mutated(
    point: Point, knobs: Sequence[Knob], random: np.random.Generator, more: float = 0.5
) -> Point:
    """Returns a point with other values for some knobs, at least one.

    Knobs are drawn in proportion to their share of the time and a floor; the new value is any but
    the one that the point has.

    Args:
        point: The point.
        knobs: Knobs to draw from, at least one.
        random: Where numbers are drawn from.
        more: Probability that one more knob is changed: the number is geometric.
    """
    number = min(int(random.geometric(1 - more)), len(knobs))
    weights = np.array([max(knob.share, 0.0) + _FLOOR for knob in knobs])
    drawn = random.choice(len(knobs), number, replace=False, p=weights / weights.sum())
    values = point.values
    for index in drawn:
        knob = knobs[index]
        current = values.get(knob.name, DEFAULT)
        others = [value for value in (DEFAULT, *knob.values) if value != current]
        values[knob.name] = others[random.integers(len(others))]
    return Point.of(values)


class Random(KnobSearch):
    """Proposes random changes of the best point or of the default, each half of the time.

    The number of changed knobs is geometric, two on average; knobs are drawn in proportion to their
    share of the time and a floor.

    Args:
        space: The space.
        seed: Seed of all draws.
    """

    name = "knobs-random"

    def __init__(self, space: Space, seed: int = 0) -> None:
        super().__init__(space, seed)
        self._random = np.random.default_rng(seed)

    def propose(self) -> Point | None:
        """Returns a point that is not known; None if it draws only known ones."""
        for _ in range(TRIES):
            base = Point() if self._random.random() < 0.5 else self._memory.best
            if not (knobs := self._knobs_at(base)):
                continue
            point = mutated(base, knobs, self._random)
            if self._memory.is_new(point):
                return self._memory.propose(point)
        return None


class Evolution(KnobSearch):
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

    name = "knobs-evolution"

    def __init__(
        self,
        space: Space,
        seed: int = 0,
        *,
        population: int = 16,
        initial: int = 8,
    ) -> None:
        super().__init__(space, seed)
        self._random = np.random.default_rng(seed)
        self._population, self._initial = population, initial

    def propose(self) -> Point | None:
        """Returns a point that is not known; None if it draws only known ones."""
        parents = self._parents()
        for _ in range(TRIES):
            point = self._child(parents)
            if self._memory.is_new(point):
                return self._memory.propose(point)
        return None

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
        knobs = self._knobs_at(point)
        return mutated(point, knobs, self._random) if knobs else point

    def _crossed(self, first: Point, second: Point) -> Point:
        """Returns a point that has each value of one of two points."""
        values = first.values, second.values
        names = sorted({name for each in values for name in each})
        sides = self._random.integers(2, size=len(names))
        return Point.of(
            {name: values[side].get(name, DEFAULT) for name, side in zip(names, sides, strict=True)}
        )
