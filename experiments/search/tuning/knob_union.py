"""The knobs of one point as a fixed list of choices, which is what libraries search in."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hlograph.tuning.knobs import DEFAULT, Knob, Point, Stage
from hlograph.tuning.searcher import Space
from hlograph.tuning.searchers.knob_lists import KnobLists


class KnobUnion:
    """Points as lists of numbers: one for each knob of the first point, its value's position.

    Knobs that only appear at other points are left out, as libraries search in a space that does
    not change. Values of other knobs are those of the first point.

    Args:
        space: The space.
        start: The first point.
        stages: Stages of the knobs.

    Attributes:
        knobs: The knobs.
        values: The values of each knob. The first one is that of the first point.
    """

    def __init__(self, space: Space, start: Point, stages: Collection[Stage]) -> None:
        self.knobs: Sequence[Knob] = KnobLists(space, stages).at(start)
        self._start = start.values
        self.values = [self._ordered(knob) for knob in self.knobs]

    def point(self, positions: Sequence[int]) -> Point:
        """Returns the point of positions of values."""
        values = dict(self._start)
        for knob, known, position in zip(self.knobs, self.values, positions, strict=True):
            values[knob.name] = known[position]
        return Point.of(values)

    def positions(self, point: Point) -> list[int] | None:
        """Returns the positions of a point's values; None if the choices do not have this point."""
        values = point.values
        positions = []
        for knob, known in zip(self.knobs, self.values, strict=True):
            value = values.get(knob.name, DEFAULT)
            if value not in known:
                return None
            positions.append(known.index(value))
        return positions if self.point(positions) == point else None

    def _ordered(self, knob: Knob) -> list[str]:
        first = self._start.get(knob.name, DEFAULT)
        return list(dict.fromkeys((first, DEFAULT, *knob.values)))
