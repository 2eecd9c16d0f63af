"""The search on cuts: values that help are composed, loops or what is in them, and it goes on."""

from __future__ import annotations

import pytest

from hlograph.errors import HloError
from hlograph.tuning.cutting.places import HeavyPlace
from hlograph.tuning.cutting.searcher import CutSearch
from hlograph.tuning.cutting.timing import CutTime
from hlograph.tuning.knobs import Knob, Point
from hlograph.tuning.searcher import Result

FLAG = {"flags xla_cpu_prefer_vector_width": "512"}


def place(kind, share, *values, inside=(), fusion=()):
    knobs = {f"kernel {kind}": values, f"fusion {kind}": fusion}
    knobs = {name: found for name, found in knobs.items() if found}
    return HeavyPlace(kind, kind, share, 1, knobs, frozenset(inside))


class Program:
    """A program with known ratios of its cuts.

    Args:
        places: Its places.
        ratios: Ratio of a cut by the values of its knobs; values that are not there do not help.
            A text is the reason why a place cannot be cut out.
    """

    def __init__(self, places, ratios):
        self.places, self.ratios, self.asked = places, ratios, []

    def knobs(self, point):
        return [Knob("kernel any", ("a",))]

    def heavy_places(self, point):
        self.base = point
        return self.places

    def cut_time(self, point, kind, values):
        assert point == self.base
        self.asked.append(tuple(values.values()))
        ratio = self.ratios.get(tuple(values.values()), 1.0)
        if isinstance(ratio, str):
            raise HloError(ratio)
        return CutTime(ratio, 0.99 * ratio, 1.01 * ratio, 1e-3)


class Last:
    """A searcher with one point of its own."""

    point = Point.of({"kernel last": "a"})

    def __init__(self):
        self.told, self.left = [], [self.point]

    def ask(self):
        return self.left.pop() if self.left else None

    def tell(self, point, result):
        self.told.append(point)


def all_points(search):
    points = []
    while (point := search.ask()) is not None:
        points.append(point)
        search.tell(point, Result(1.0, 0.9, 1.1))
    return points


def test_the_fastest_values_of_all_places_are_composed():
    places = [place("first", 0.6, "a", "b"), place("second", 0.3, "c", "d")]
    search = CutSearch(Program(places, {("a",): 1.5, ("b",): 2.0, ("d",): 1.5}))
    points = all_points(search)
    best = Point.of({"kernel first": "b", "kernel second": "d"})
    assert search.composed() == best
    assert best in points
    assert Point.of({"kernel second": "d"}) in points
    # Half of 0.6, and a third of 0.3, of the time.
    assert search.predicted_saving() == pytest.approx(0.4)
    assert [one.trials for one in search.tuned.values()] == [3, 3]


def test_a_point_that_is_clearly_faster_is_proposed_before_all_places_are_tuned():
    places = [place("first", 0.6, "a"), place("second", 0.3, "b")]
    program = Program(places, {("a",): 1.5})
    assert CutSearch(program).ask() == Point.of({"kernel first": "a"})
    assert program.asked == [("a",), ("a",)]


def test_knobs_of_one_place_are_also_timed_together():
    program = Program(
        [place("one", 0.5, "a", fusion=["b"])], {("a",): 1.2, ("b",): 1.3, ("a", "b"): 1.6}
    )
    search = CutSearch(program)
    all_points(search)
    assert search.composed() == Point.of({"kernel one": "a", "fusion one": "b"})


def test_what_was_only_lucky_is_left_out():
    class Lucky(Program):
        def cut_time(self, point, kind, values):
            found = super().cut_time(point, kind, values)
            return CutTime(1.0, 0.9, 1.1) if self.asked.count(("a",)) > 1 else found

    search = CutSearch(Lucky([place("one", 0.5, "a", "b")], {("a",): 1.5}))
    assert all_points(search) == []
    assert search.predicted_saving() == 0


@pytest.mark.parametrize(("loop", "chosen"), [(1.2, "inner"), (3.0, "loop")])
def test_a_loop_or_what_is_in_it(loop, chosen):
    places = [place("loop", 0.9, "whole", inside=["inner"]), place("inner", 0.6, "parts")]
    search = CutSearch(Program(places, {("whole",): loop, ("parts",): 2.0}))
    all_points(search)
    assert [name for name, _ in search.composed().items] == [f"kernel {chosen}"]


def test_places_begin_from_the_fastest_point_that_was_told():
    program = Program([place("one", 0.5, "a")], {("a",): 2.0})
    search = CutSearch(program)
    search.tell(Point.of(FLAG), Result(2.0, 1.9, 2.1))
    assert search.ask() == Point.of({**FLAG, "kernel one": "a"})


def test_a_place_that_cannot_be_cut_out_is_left_out():
    places = [place("bad", 0.6, "a", "b"), place("good", 0.3, "c")]
    program = Program(places, {("a",): "it has a custom call", ("c",): 2.0})
    search = CutSearch(program)
    assert all_points(search) == [Point.of({"kernel good": "c"})]
    assert search.tuned["bad"].error == "it has a custom call"
    assert ("b",) not in program.asked


def test_another_searcher_goes_on_and_knows_all_results():
    last = Last()
    search = CutSearch(Program([place("one", 0.5, "a")], {("a",): 2.0}), last)
    assert all_points(search) == [Point.of({"kernel one": "a"}), last.point]
    assert last.told == [Point.of({"kernel one": "a"}), last.point]


def test_a_program_without_heavy_places_is_left_to_the_other_searcher():
    class Unknown(Program):
        def heavy_places(self, point):
            raise HloError("no profile")

    assert all_points(CutSearch(Unknown([], {}), Last())) == [Last.point]


def test_what_another_version_has_of_other_places_is_tuned_too():
    class Versions(Program):
        def heavy_places(self, point):
            self.base = point
            return self.places[:1] if point == Point() else self.places

    places = [place("same", 0.5, "a"), place("new", 0.4, "b")]
    program = Versions(places, {("a",): 1.5, ("b",): 2.0})
    search = CutSearch(program)
    assert all_points(search) == [Point.of({"kernel same": "a"})]
    search.tell(Point.of(FLAG), Result(1.05, 1.0, 1.1))
    assert search.ask() is None  # not worth it
    search.tell(Point.of(FLAG), Result(2.0, 1.9, 2.1))
    both = {"kernel same": "a", "kernel new": "b"}
    assert search.ask() == Point.of({**FLAG, **both})
    assert program.asked == [("a",), ("a",), ("b",), ("b",)]
