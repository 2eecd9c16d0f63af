"""The joint search: where it looks first, and what helps only together."""

from __future__ import annotations

from hlograph.optimization.methods.coordinate import JointSearch
from hlograph.optimization.methods.knob_search import PointSpeed
from hlograph.plans.knobs import Knob, Point
from tests.hlograph.optimization.spaces import Large

LOOP = Knob("kernel aaaaaaaaaaaa", ("one-kernel",), 0.5)
SUM = Knob("kernel bbbbbbbbbbbb", ("library none",), 0.4)
LAYOUT = Knob("layout cccccccccccc 0", ("{0,1}",), 0.9)
WIDTH = Knob("flags xla_cpu_prefer_vector_width", ("512", "128"))


class Space:
    """Knobs of which two help only together."""

    def __init__(self):
        self.versions = []

    def knobs(self, point):
        self.versions.append(point)
        return [WIDTH, LAYOUT, SUM, LOOP]

    def result(self, point):
        both = {LOOP.name, SUM.name} <= set(point.values)
        ratio = 1.6 if both else 0.9 ** len(point.items)
        return PointSpeed(ratio, 0.99 * ratio, 1.01 * ratio)


def test_what_promises_most_comes_first_of_each_stage_and_then_of_all():
    search = JointSearch(Space())
    asked = [search.propose() for _ in range(7)]
    assert asked[::2] == [  # the others are several values, by evolution
        Point.of({LOOP.name: "one-kernel"}),
        Point.of({WIDTH.name: "512"}),
        Point.of({LAYOUT.name: "{0,1}"}),
        Point.of({SUM.name: "library none"}),
    ]


def test_values_that_help_only_together_are_found():
    space = Space()
    search, told = JointSearch(space), {}
    while len(told) < 12:  # of 24 points
        point = search.propose()
        assert point is not None
        assert point not in told
        told[point] = space.result(point)
        search.note(point, told[point])
    assert max(result.ratio for result in told.values()) == 1.6


def test_knobs_are_listed_for_the_fastest_version_only():
    space = Space()
    search = JointSearch(space)
    search.propose()
    for width, ratio in (("512", 1.2), ("128", 0.8)):
        search.note(Point.of({WIDTH.name: width}), PointSpeed(ratio, ratio, ratio))
    space.versions.clear()
    while (point := search.propose()) is not None:
        search.note(point, PointSpeed(0.0))
    assert {version.values.get(WIDTH.name) for version in space.versions} == {"512"}


def test_evolution_changes_the_fastest_points_from_the_first_turn():
    space = Large()
    search = JointSearch(space)
    first = search.propose()
    assert first is not None
    search.note(first, PointSpeed(3.0, 2.9, 3.1))
    proposed = [search.propose() for _ in range(10)][::2]  # those in between change one value
    kept = [point for point in proposed if point and set(first.items) <= set(point.items)]
    assert len(kept) >= 3  # of points around the default, hardly any has the value
