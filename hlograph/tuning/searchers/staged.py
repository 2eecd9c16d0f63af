"""Searches stage by stage: what tuners of single stages do one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hlograph.tuning.knobs import STAGES, Point, Stage, stage_of
from hlograph.tuning.searcher import Result, Searcher, Space
from hlograph.tuning.searchers.coordinate import Coordinate
from hlograph.tuning.searchers.memory import Memory

# A searcher that proposes so many points in a row that are known has no others.
_MOST_KNOWN = 1000


class MakeStageSearcher(Protocol):
    """Makes a searcher that changes knobs of some stages only."""

    def __call__(
        self, space: Space, seed: int, *, start: Point, stages: tuple[Stage, ...]
    ) -> Searcher:
        """Returns the searcher, which begins with a point that it is then told the result of."""
        ...


class Staged:
    """Searches in one stage after the other, and never goes back.

    Each stage has a searcher of its own, which begins with the best point that is known and is told
    all results that differ from it in this stage alone. A stage ends when its searcher has no more,
    or when it has proposed a number of points; the next one begins when all of them are told.

    Args:
        space: The space.
        seed: Seed of the first stage's searcher; each next one has the next seed.
        start: Point to begin with.
        make: Makes the searcher of a stage.
        order: The stages, in the order in which they are searched.
        limit: Largest number of points that a stage proposes; None sets no limit.
    """

    def __init__(
        self,
        space: Space,
        seed: int = 0,
        *,
        start: Point = Point(),  # noqa: B008 (points are frozen)
        make: MakeStageSearcher = Coordinate,
        order: Sequence[Stage] = STAGES,
        limit: int | None = 30,
    ) -> None:
        self._space, self._seed, self._start = space, seed, start
        self._make, self._order, self._limit = make, tuple(order), limit
        self._memory = Memory()
        self._inner: Searcher | None = None
        self._base = Point()
        self._next = 0
        self._proposed = 0

    def ask(self) -> Point | None:
        """Returns the next point; None if no stage is left, or none until more is told."""
        if self._memory.is_new(self._start):
            return self._memory.propose(self._start)
        while True:
            point = self._of_stage()
            if point is not None:
                self._proposed += 1
                return self._memory.propose(point)
            if self._memory.waits or not self._begin_stage():
                return None

    def tell(self, point: Point, result: Result) -> None:
        """Takes note of a point's result, also of one that it has not proposed."""
        self._memory.tell(point, result)
        if self._inner is not None and self._belongs(point):
            self._inner.tell(point, result)

    def _of_stage(self) -> Point | None:
        """Returns the next point of this stage's searcher that is not known."""
        if self._inner is None or self._proposed == self._limit:
            return None
        for _ in range(_MOST_KNOWN):
            point = self._inner.ask()
            if point is None or self._memory.is_new(point):
                return point
            if point in self._memory.told:
                self._inner.tell(point, self._memory.told[point])
        return None

    def _begin_stage(self) -> bool:
        """Begins the next stage; returns False if there is none."""
        position = self._next % len(self._order) if self._order else 0
        if not self._order or (position == 0 and not self._begins_cycle(self._memory.best)):
            self._inner = None
            return False
        self._base, self._proposed = self._memory.best, 0
        self._stage = self._order[position]
        inner = self._make(
            self._space, self._seed + self._next, start=self._base, stages=(self._stage,)
        )
        inner.tell(self._base, self._memory.best_result)
        for point, result in self._memory.told.items():
            if point != self._base and self._belongs(point):
                inner.tell(point, result)
        self._inner = inner
        self._next += 1
        return True

    def _belongs(self, point: Point) -> bool:
        """Returns True if a point differs from this stage's first one in this stage alone."""
        changed = set(self._base.items) ^ set(point.items)
        return all(stage_of(name) == self._stage for name, _ in changed)

    def _begins_cycle(self, best: Point) -> bool:
        """Returns True if the stages are searched, given the best point so far."""
        del best
        return self._next == 0


class Alternating(Staged):
    """Searches in one stage after the other, again and again, until a cycle brings nothing.

    For its arguments, see ``Staged``.
    """

    _before: Point | None = None

    def _begins_cycle(self, best: Point) -> bool:
        brought = self._before is None or best != self._before
        self._before = best
        return brought
