"""Synthetic spaces of known optima, and searches in them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hlograph.optimization.methods.knob_search import KnobSearch, PointSpeed
from hlograph.plans.knobs import DEFAULT, Knob, Point

Effects = Mapping[str, Mapping[str, float]]
"""Amounts that values add to the logarithm of the ratio, by knob."""

EFFECTS: Effects = {
    "steps prepare": {"whole": 0.05, "part": -0.1},
    "layout w": {"{0,1}": 0.3, "{1,0}": 0.0},
    "fusion a b": {"together": -0.2, "again": 0.1},
    "kernel d": {"library ynn": 0.2, "partitions 2": 0.15, "partitions 4": -0.1},
    "kernel e": {"library ynn": -0.4, "partitions 2": 0.1, "partitions 4": 0.05},
    "flags wide": {"on": 0.15},
}


class Separable:
    """Six knobs of all stages, whose effects add up; the optimum is 2.5 times as fast.

    Args:
        effects: The effects.

    Attributes:
        effects: The effects.
        requests: The points whose knobs were asked for.
    """

    def __init__(self, effects: Effects = EFFECTS) -> None:
        self.effects = effects
        self.requests: list[Point] = []

    @property
    def optimum(self) -> Point:
        fastest = {name: max(some, key=lambda v: some[v]) for name, some in self.effects.items()}
        return Point.of({name: v for name, v in fastest.items() if self.effects[name][v] > 0})

    def knobs(self, point: Point) -> Sequence[Knob]:
        self.requests.append(point)
        return [
            Knob(name, tuple(values), share=max(map(abs, values.values())))
            for name, values in self.effects.items()
        ]

    def gain(self, point: Point) -> float:
        known = ((self.effects.get(name, {}), value) for name, value in point.items)
        return sum(values.get(value, 0.0) for values, value in known)

    def result(self, point: Point) -> PointSpeed:
        ratio = math.exp(self.gain(point))
        return PointSpeed(ratio, 0.99 * ratio, 1.01 * ratio)


class Interacting(Separable):
    """Beside the knobs of ``Separable``, two that help only together."""

    def __init__(self) -> None:
        values = {"library ynn": -0.02, "partitions 2": -0.3}
        super().__init__({**EFFECTS, "kernel x": values, "kernel y": values})

    @property
    def optimum(self) -> Point:
        return super().optimum.but("kernel x", "library ynn").but("kernel y", "library ynn")

    def gain(self, point: Point) -> float:
        together = {point.values.get(name) for name in ("kernel x", "kernel y")} == {"library ynn"}
        return super().gain(point) + (0.5 if together else 0.0)


class Growing(Separable):
    """Beside the knobs of ``Separable``, one that appears only after another one is set."""

    def __init__(self) -> None:
        super().__init__({**EFFECTS, "fusion unrolled": {"together": 0.4}})

    def knobs(self, point: Point) -> Sequence[Knob]:
        found = super().knobs(point)
        return [knob for knob in found if knob.name != "fusion unrolled" or _prepared(point)]

    def gain(self, point: Point) -> float:
        return super().gain(point if _prepared(point) else point.but("fusion unrolled", DEFAULT))


def _prepared(point: Point) -> bool:
    return point.values.get("steps prepare") == "whole"


class Brittle(Separable):
    """``Separable``, but points with a value of one knob cannot be timed."""

    def result(self, point: Point) -> PointSpeed:
        return PointSpeed(0.0) if self.is_bad(point) else super().result(point)

    def is_bad(self, point: Point) -> bool:
        return point.values.get("kernel d") == "partitions 4"


class Large(Separable):
    """Sixty knobs, of which a few matter, as in a program, and measurements with noise of 2 %.

    Values of one kind (stage and first word) have an effect in common, and one of their own that is
    as large; most slow the program down.

    Args:
        seed: Seed of effects and noise.
    """

    def __init__(self, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)
        stages = ("layout", "fusion", "kernel", "kernel", "steps", "flags")
        names = [f"{stages[index % len(stages)]} {index}" for index in range(60)]
        self._shares = {name: 0.3 / (index + 1) for index, name in enumerate(names)}
        common = {
            (stage, word): self._random.normal(-0.3, 0.5)
            for stage in dict.fromkeys(stages)
            for word in "abc"
        }
        super().__init__(
            {
                name: {
                    word: share * (common[name.split()[0], word] + self._random.normal(0, 0.5))
                    for word in "abc"
                }
                for name, share in self._shares.items()
            }
        )

    def knobs(self, point: Point) -> Sequence[Knob]:
        return [
            Knob(name, tuple(values), share=self._shares[name])
            for name, values in self.effects.items()
        ]

    def result(self, point: Point) -> PointSpeed:
        ratio = math.exp(self.gain(point) + 0.02 * self._random.standard_normal())
        return PointSpeed(ratio, 0.97 * ratio, 1.03 * ratio)


@dataclass
class Search:
    """The points that a search proposed.

    Attributes:
        points: The points, in order.
        best: True ratio of the point that was measured fastest, after each result.
        ended: True if the searcher had no more.
    """

    points: list[Point] = field(default_factory=list)
    best: list[float] = field(default_factory=list)
    ended: bool = False


def search(searcher: KnobSearch, space: Separable, tells: int, in_flight: int = 1) -> Search:
    """Runs a searcher for a number of results, with so many points being measured at a time."""
    found, queue = Search(), []
    fastest, true = 1.0, 1.0
    while len(found.best) < tells:
        while len(queue) < in_flight and (point := searcher.propose()) is not None:
            queue.append(point)
            found.points.append(point)
        if not queue:
            found.ended = True
            break
        point = queue.pop(0)
        result = space.result(point)
        searcher.note(point, result)
        if result.ratio > fastest:
            fastest, true = result.ratio, math.exp(space.gain(point))
        found.best.append(true)
    return found
