"""Knobs of points, as searchers see them."""

from __future__ import annotations

from hlograph.errors import HloError
from hlograph.tuning.knobs import Knob, Point
from hlograph.tuning.searcher import Space


class KnobLists:
    """Lists of knobs that have values to choose from.

    Args:
        space: The space. It remembers what it has listed.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._lists: dict[Point, tuple[Knob, ...]] = {}

    def at(self, point: Point) -> tuple[Knob, ...]:
        """Returns the knobs of a point that have values to choose from; none if it has no list."""
        try:
            knobs = self._space.knobs(point)
        except HloError:
            knobs = ()
        found = tuple(knob for knob in knobs if knob.values)
        self._lists[point.version] = found
        return found

    def known(self, point: Point) -> tuple[Knob, ...]:
        """Returns the knobs of a point that were asked for before; none if they were not."""
        return self._lists.get(point.version, ())
