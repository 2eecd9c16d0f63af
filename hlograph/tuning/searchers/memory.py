"""The memory of a searcher: points that were proposed or told, and the best one."""

from __future__ import annotations

from collections.abc import Iterator

from hlograph.tuning.knobs import Point
from hlograph.tuning.searcher import Result

DEFAULT_RESULT = Result(1.0, 1.0, 1.0)
"""Result of jaxlib's default, which is 1 by definition."""

LEAD = 1.03
"""A point with a ratio this many times the best's is better, even if the interval is wide."""


def is_bad(result: Result) -> bool:
    """Returns True if a point could not be timed."""
    return not result.ratio > 0


def is_better(result: Result, best: Result) -> bool:
    """Returns True if a result is clearly better than that of the best point.

    The interval must lie above the best's ratio, or the ratio must be 3 % above it.
    """
    if is_bad(result):
        return False
    return result.low > best.ratio or result.ratio > LEAD * best.ratio


class Memory:
    """Points that were proposed or told, and the best one of those that were told.

    The default point is known from the beginning, so that it is never proposed.

    Attributes:
        told: The results by point, in the order in which they were told first.
        best: The best point.
    """

    def __init__(self) -> None:
        self.told: dict[Point, Result] = {Point(): DEFAULT_RESULT}
        self.best = Point()
        self._pending: set[Point] = set()

    @property
    def best_result(self) -> Result:
        """The result of the best point."""
        return self.told[self.best]

    @property
    def waits(self) -> bool:
        """True if the result of a proposed point was not told yet."""
        return bool(self._pending)

    def is_new(self, point: Point) -> bool:
        """Returns True if a point was neither proposed nor told."""
        return point not in self.told and point not in self._pending

    def propose(self, point: Point) -> Point:
        """Returns the point, and takes note that it was proposed."""
        self._pending.add(point)
        return point

    def tell(self, point: Point, result: Result) -> None:
        """Takes note of a point's result, which replaces an earlier one."""
        self._pending.discard(point)
        fell = point == self.best and not result.ratio >= self.best_result.ratio
        self.told[point] = result
        if fell:
            self._choose_again()
        elif is_better(result, self.best_result):
            self.best = point

    def good(self) -> Iterator[tuple[Point, Result]]:
        """Yields the points that could be timed, with their results."""
        return ((point, result) for point, result in self.told.items() if not is_bad(result))

    def _choose_again(self) -> None:
        self.best = Point()
        for point, result in self.told.items():
            if is_better(result, self.best_result):
                self.best = point
