"""Knobs of points, of some stages."""

from __future__ import annotations

from collections.abc import Collection

from hlograph.errors import HloError
from hlograph.tuning.knobs import STAGES, Knob, Point, Stage
from hlograph.tuning.searcher import Space

_DECISIVE: tuple[Stage, ...] = ("steps", "layout", "flags")


class KnobLists:
    """Lists of knobs of some stages.

    Args:
        space: The space. It remembers what it has listed.
        stages: Stages of the knobs that are listed.
    """

    def __init__(self, space: Space, stages: Collection[Stage] = STAGES) -> None:
        self._space = space
        self._stages = frozenset(stages)
        self._lists: dict[tuple[tuple[str, str], ...], tuple[Knob, ...]] = {}

    def at(self, point: Point) -> tuple[Knob, ...]:
        """Returns the knobs of a point that have values to choose from; none if it has no list."""
        try:
            knobs = self._space.knobs(point)
        except HloError:
            knobs = ()
        found = tuple(knob for knob in knobs if knob.stage in self._stages and knob.values)
        self._lists[_key(point)] = found
        return found

    def known(self, point: Point) -> tuple[Knob, ...]:
        """Returns the knobs of a point that were asked for before; none if they were not."""
        return self._lists.get(_key(point), ())


def _key(point: Point) -> tuple[tuple[str, str], ...]:
    return tuple(point.at(*_DECISIVE).items())
