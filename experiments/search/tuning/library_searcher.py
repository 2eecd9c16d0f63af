"""The common part of searchers that a library drives."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import Generic, TypeVar

import numpy as np

from experiments.search.tuning.knob_union import KnobUnion
from hlograph.tuning.knobs import STAGES, Point, Stage
from hlograph.tuning.searcher import Result, Space
from hlograph.tuning.searchers.memory import DEFAULT_RESULT, Memory, is_bad
from hlograph.tuning.searchers.mutation import mutated

_TRIES = 1000
"""After so many known random changes there are no others."""

_BAD_LOSS = 3.0
"""Loss of a point that could not be timed: that of one which is twenty times slower."""

Candidate = TypeVar("Candidate")
"""The library's object for a point that it has proposed."""


class LibrarySearcher(ABC, Generic[Candidate]):
    """Proposes what a library proposes, and never a point twice.

    The library searches among the knobs of the start, with the loss -log(ratio). Knobs that appear
    only after others are set are left out. If the library proposes a known point, it is asked for
    another one; if it goes on repeating itself, a random change of the best point is proposed in
    its place. Points that others proposed are told to it if they set knobs of the start only.

    Args:
        space: The space.
        seed: Seed of all draws.
        start: Point to begin with.
        stages: Stages whose knobs are changed.
    """

    _repeats = 20
    """After so many known points in a row a random change is proposed."""

    _knows_default = True
    """True if the library is told of the default point at once."""

    def __init__(
        self,
        space: Space,
        seed: int = 0,
        *,
        start: Point = Point(),  # noqa: B008 (points are frozen)
        stages: Collection[Stage] = STAGES,
    ) -> None:
        self._start = start
        self._union = KnobUnion(space, start, stages)
        self._memory = Memory()
        self._random = np.random.default_rng(seed)
        self._candidates: dict[Point, Candidate] = {}
        self._shared: set[Point] = set()
        if self._union.knobs:
            self._prepare([len(values) for values in self._union.values], seed)
            if self._knows_default:
                self._share(Point(), DEFAULT_RESULT)

    def ask(self) -> Point | None:
        """Returns a point that is not known; None if there seems to be none."""
        if self._memory.is_new(self._start):
            return self._memory.propose(self._start)
        if not self._union.knobs:
            return None
        for _ in range(self._repeats):
            candidate, positions = self._ask()
            point = self._union.point(positions)
            if self._memory.is_new(point):
                self._candidates[point] = candidate
                return self._memory.propose(point)
            self._repeat(candidate, self._memory.told.get(point))
        return self._drawn()

    def tell(self, point: Point, result: Result) -> None:
        """Takes note of a point's result, also of one that it has not proposed."""
        self._memory.tell(point, result)
        candidate = self._candidates.pop(point, None)
        if candidate is not None:
            self._shared.add(point)
            self._tell(candidate, result)
        elif point not in self._shared:
            self._share(point, result)

    @abstractmethod
    def _prepare(self, numbers: Sequence[int], seed: int) -> None:
        """Prepares the library for a search among knobs of these numbers of values."""

    @abstractmethod
    def _ask(self) -> tuple[Candidate, list[int]]:
        """Returns the library's next proposal, and the positions of its values."""

    @abstractmethod
    def _tell(self, candidate: Candidate, result: Result) -> None:
        """Tells the library the result of its proposal."""

    @abstractmethod
    def _tell_other(self, positions: Sequence[int], result: Result) -> None:
        """Tells the library the result of a point that it has not proposed."""

    def _repeat(self, candidate: Candidate, known: Result | None) -> None:
        """Takes back a proposal that is known, or that was proposed and has no result yet."""

    def _share(self, point: Point, result: Result) -> None:
        """Tells the library of a point that it has not proposed, if it knows its values."""
        if self._union.knobs and (positions := self._union.positions(point)) is not None:
            self._shared.add(point)
            self._tell_other(positions, result)

    def _drawn(self) -> Point | None:
        best = self._memory.best
        base = best if self._union.positions(best) is not None else self._start
        for _ in range(_TRIES):
            point = mutated(base, self._union.knobs, self._random)
            if self._memory.is_new(point):
                return self._memory.propose(point)
        return None


def loss_of(result: Result) -> float:
    """Returns the loss of a result, which is least for the fastest point."""
    return _BAD_LOSS if is_bad(result) else -math.log(result.ratio)
