"""Random changes of points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlograph.tuning.knobs import DEFAULT, Knob, Point

_FLOOR = 0.02
"""Share that is added to those of all knobs, so that each one is changed at times."""


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
