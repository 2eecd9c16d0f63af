from __future__ import annotations

import pytest

from hlograph.tuning.knobs import Point
from hlograph.tuning.searcher import Result
from hlograph.tuning.searchers import Alternating, Coordinate, Evolution, Random, Staged
from tests.hlograph.tuning.searchers.spaces import Large, Separable, search


class Linked(Separable):
    """A layout that helps only with a library, which is a choice of a later stage."""

    def __init__(self) -> None:
        super().__init__({"layout a": {"{0,1}": -0.01}, "kernel b": {"library ynn": 0.1}})

    def gain(self, point: Point) -> float:
        return super().gain(point) + (0.5 if len(point.items) == 2 else 0.0)


@pytest.mark.parametrize("make", [Coordinate, Random, Evolution])
def test_stages_follow_each_other_from_the_best_point(make: type[Coordinate]) -> None:
    space = Separable()
    found = search(Staged(space, make=make, order=("layout", "kernel"), limit=20), space, 100)
    assert found.ended
    layout = [p for p in found.points if not p.at("kernel")]
    kernel = found.points[len(layout) :]
    assert layout == found.points[: len(layout)]
    assert {tuple(point.at("layout").values()) for point in kernel} == {("{0,1}",)}
    assert not any(point.at("steps", "fusion", "flags") for point in found.points)


def test_a_stage_ends_after_its_limit() -> None:
    space = Large()
    found = search(Staged(space, order=("fusion", "flags"), limit=7), space, 100)
    assert len(found.points) == 14
    assert not any(point.at("flags") for point in found.points[:7])
    assert all(point.at("flags") for point in found.points[7:])


def test_the_next_stage_waits_for_all_results() -> None:
    space = Separable()
    searcher = Staged(space, order=("layout", "kernel"), limit=2)
    first, second = searcher.ask(), searcher.ask()
    assert first is not None
    assert second is not None
    assert searcher.ask() is None
    searcher.tell(first, space.result(first))
    assert searcher.ask() is None
    searcher.tell(second, space.result(second))
    following = searcher.ask()
    assert following is not None
    assert following.at("kernel")


def test_only_alternating_goes_back_to_a_stage() -> None:
    best = {}
    for make in (Staged, Alternating):
        space = Linked()
        # Without the library the layout brings nothing.
        found = search(make(space, order=("layout", "kernel")), space, 30)
        assert found.ended
        best[make] = found.best[-1]
    assert best[Alternating] > best[Staged]


def test_alternating_ends_after_a_cycle_that_brings_nothing() -> None:
    space = Separable({"layout a": {"x": -0.01}, "kernel b": {"x": 0.0}})
    found = search(Alternating(space), space, 30)
    assert found.ended
    assert len(found.points) == 2


def test_a_told_point_begins_another_cycle() -> None:
    space = Separable()
    searcher = Alternating(space, order=("layout",))
    assert search(searcher, space, 30).ended
    searcher.tell(Point.of({"flags wide": "on"}), Result(3.0, 2.9, 3.1))
    following = searcher.ask()
    assert following is not None
    assert following.values["flags wide"] == "on"


def test_no_stages_no_points() -> None:
    assert Staged(Separable(), order=()).ask() is None
