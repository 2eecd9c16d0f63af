"""A search that tunes heavy places cut out of the program, and composes what is fastest there."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Protocol

from hlograph.errors import HloError
from hlograph.tuning.cutting.composing import TunedPlace, without_nested
from hlograph.tuning.cutting.places import HeavyPlace
from hlograph.tuning.cutting.timing import CutTime
from hlograph.tuning.knobs import Point
from hlograph.tuning.searcher import Result, Searcher, Space
from hlograph.tuning.searchers.memory import Memory

# A value is taken if its whole interval is ahead, and it is this much ahead.
_HELPS = 1.03

# A composed point is measured when it is predicted to save so much more than the last one.
_WORTH = 0.03

# The best values of so many places are also measured each by itself.
_SINGLE = 4

# Seconds of cuts after which a point of the other searcher is measured meanwhile.
_LONG = 5.0

# Another version of the program is cut, too, if it is so many times as fast; so often at most.
_FASTER, _MOST_VERSIONS = 1.1, 3


class CuttingSpace(Space, Protocol):
    """A space whose heavy places can be timed by themselves."""

    def heavy_places(self, point: Point) -> Sequence[HeavyPlace]:
        """Returns the heavy places of the program compiled as a point says, the heaviest first.

        Raises:
            HloError: The program cannot be compiled or profiled so.
        """
        ...

    def cut_time(self, point: Point, kind: str, values: Mapping[str, str]) -> CutTime:
        """Returns the speed of one place cut out of the program, with values of its knobs.

        Raises:
            HloError: The place cannot be cut out.
        """
        ...


class CutSearch:
    """Times the values of the knobs of each heavy place on a cut, and proposes what is fastest.

    Equal places are tuned once, the heaviest first. The fastest values of all of them are composed
    into points, which are proposed when they are predicted to be clearly faster; then come those of
    single places. In the end another searcher goes on, which is told of all results. When a version
    of the program with other steps or flags has become the fastest by far, what it has of other
    heavy places is tuned, too.

    Args:
        space: The space.
        then: The searcher that goes on; None ends the search there.

    Attributes:
        tuned: What was found about each place, by kind.
    """

    def __init__(self, space: CuttingSpace, then: Searcher | None = None) -> None:
        self._space, self._then = space, then
        self._memory = Memory()
        self._bases: list[Point] = []
        self._places: dict[str, HeavyPlace] = {}
        self._waiting: deque[HeavyPlace] = deque()
        self._proposals: deque[Point] = deque()
        self._proposed = 0.0
        self.tuned: dict[str, TunedPlace] = {}

    def ask(self) -> Point | None:
        """Returns the next point; None if there is none now."""
        if self._is_done and self._has_another_version():
            self._begin(self._memory.best)
        begun = time.monotonic()
        while self._waiting:
            self._tune(self._waiting.popleft())
            if not self._waiting:
                self._proposals.extend(self._last_points())
            elif self.predicted_saving() - self._proposed >= _WORTH:
                self._proposed = self.predicted_saving()
                self._proposals.append(self.composed())
            if (point := self._next()) is not None:
                return point
            if self._then is not None and time.monotonic() - begun > _LONG:
                break
        return self._next() or (self._then.ask() if self._then is not None else None)

    def tell(self, point: Point, result: Result) -> None:
        """Takes note of a point's result, also of one that it has not proposed."""
        self._memory.tell(point, result)
        if self._then is not None:
            self._then.tell(point, result)

    def composed(self) -> Point:
        """Returns the point with the fastest values of all places so far."""
        return self._with(self._chosen())

    def predicted_saving(self) -> float:
        """Returns the share of the time that the composed point is predicted to save."""
        return sum(one.saved for one in self._chosen())

    @property
    def _is_done(self) -> bool:
        return not (self._waiting or self._proposals)

    def _has_another_version(self) -> bool:
        """Returns True if the fastest point's version was not cut, and is worth it."""
        if not self._bases:
            return True
        best, base = self._memory.best, self._bases[-1]
        ratios = [self._memory.told[point].ratio for point in (best, base)]
        known = [one.version for one in self._bases]
        return (
            len(known) < _MOST_VERSIONS
            and best.version not in known
            and ratios[0] > _FASTER * ratios[1]
        )

    def _begin(self, base: Point) -> None:
        """Lists the heavy places of a version; those that are known need not be tuned again."""
        self._bases.append(base)
        try:
            places = self._space.heavy_places(base.version)
        except HloError:
            return  # the searcher that goes on may know more
        self._places, self._proposed = {one.kind: one for one in places}, 0.0
        self._waiting.extend(one for one in places if one.kind not in self.tuned)
        for one in places:
            if one.kind in self.tuned:
                self.tuned[one.kind].place = one
        if not self._waiting:
            self._proposals.extend(self._last_points())

    def _next(self) -> Point | None:
        while self._proposals:
            point = self._proposals.popleft()
            if self._memory.is_new(point):
                return self._memory.propose(point)
        return None

    def _tune(self, place: HeavyPlace) -> None:
        """Times each value of a place's knobs alone, then the best of all knobs together.

        What is fastest is timed once more, and that time counts: the fastest of many is one of
        those that were lucky.
        """
        found = self.tuned[place.kind] = TunedPlace(place)
        helped: list[tuple[float, dict[str, str]]] = []
        best: dict[str, tuple[float, str]] = {}
        for name, values in place.values.items():
            for value in values:
                ratio = self._ratio(found, {name: value})
                if found.error:
                    return
                if ratio >= _HELPS:
                    helped.append((ratio, {name: value}))
                    best[name] = max(best.get(name, (0.0, "")), (ratio, value))
        if len(best) > 1:
            together = {name: value for name, (_, value) in best.items()}
            helped.append((self._ratio(found, together), together))
        if helped:
            _, chosen = max(helped, key=lambda one: one[0])
            if self._ratio(found, chosen) >= _HELPS:
                found.values = chosen

    def _ratio(self, found: TunedPlace, values: Mapping[str, str]) -> float:
        """Returns the ratio of values that are clearly ahead; 0 for others."""
        try:
            version = self._bases[-1].version
            found.time = self._space.cut_time(version, found.place.kind, values)
        except HloError as error:
            found.error = str(error)
            return 0.0
        found.trials += 1
        return found.time.ratio if found.time.low > 1 else 0.0

    def _chosen(self) -> list[TunedPlace]:
        """Returns the places whose values are composed."""
        return without_nested(self._helped())

    def _helped(self) -> list[TunedPlace]:
        """Returns the places of this version whose values help, those that save most first."""
        helped = [one for k, one in self.tuned.items() if one.values and k in self._places]
        return sorted(helped, key=lambda one: -one.saved)

    def _with(self, places: Sequence[TunedPlace]) -> Point:
        # The knobs of places mean the same in all versions; what a version lacks decides nothing.
        values = self._bases[-1].version.values if self._bases else {}
        for one in places:
            values |= one.values
        return Point.of(values)

    def _last_points(self) -> list[Point]:
        """Returns the composed point, and those of single places."""
        return [self.composed(), *(self._with([one]) for one in self._helped()[:_SINGLE])]
