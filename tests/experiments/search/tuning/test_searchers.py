from __future__ import annotations

import logging
import subprocess
import sys

import numpy as np
import pytest

from experiments.search.tuning.knob_union import KnobUnion
from experiments.search.tuning.nevergrad_searchers import Annealing, OnePlusOne
from experiments.search.tuning.optuna_searchers import NSGA2, TPE
from experiments.search.tuning.searchers import SEARCHERS
from hlograph.tuning.knobs import STAGES, Point, Stage
from hlograph.tuning.searcher import Result
from hlograph.tuning.searchers import SEARCHERS as OWN
from hlograph.tuning.searchers import Staged
from tests.hlograph.tuning.searchers.spaces import Brittle, Growing, Large, Separable, search

# Results within which the optimum of the separable space is found, with seed 0.
NEEDED = {"one-plus-one": 40, "annealing": 250, "tpe": 80, "nsga2": 140}

CLASSES = {"one-plus-one": OnePlusOne, "annealing": Annealing, "tpe": TPE, "nsga2": NSGA2}

each = pytest.mark.parametrize("name", NEEDED)


def test_all_searchers_have_a_name() -> None:
    assert set(SEARCHERS) == {*OWN, *NEEDED, "guided"}


@each
def test_the_optimum_of_a_separable_space_is_found(name: str) -> None:
    space = Separable()
    found = search(SEARCHERS[name](space, 0), space, NEEDED[name])
    assert space.optimum in found.points


@each
@pytest.mark.parametrize("in_flight", [1, 3])
def test_no_point_is_proposed_twice(name: str, in_flight: int) -> None:
    space = Brittle()
    found = search(SEARCHERS[name](space, 1), space, 60, in_flight)
    assert len(set(found.points)) == len(found.points) == 60 + in_flight - 1
    assert Point() not in found.points


@each
def test_a_seed_determines_the_proposals(name: str) -> None:
    first, second, other = (
        search(SEARCHERS[name](space, seed), space, 30).points
        for space, seed in ((Large(), 7), (Large(), 7), (Large(), 8))
    )
    assert first == second != other


@each
def test_a_told_point_is_not_proposed_and_is_built_on(name: str) -> None:
    space = Separable()
    told = space.optimum.but("fusion a b", "")
    shared = []
    for tells in (0, 1):
        searcher = SEARCHERS[name](space, 1)
        searcher.tell(space.optimum.but("fusion unknown", "x"), Result(0.1))  # is left out
        for _ in range(tells):
            searcher.tell(told, space.result(told))
        points = search(searcher, space, 60).points
        assert not tells or told not in points
        shared.append(np.mean([len(set(point.items) & set(told.items)) for point in points]))
    assert shared[1] > shared[0]


@each
def test_it_ends_when_nothing_is_left(name: str) -> None:
    space = Separable({"layout a": {"{0,1}": 0.1}, "kernel b": {"library ynn": -0.2, "own": 0.1}})
    found = search(SEARCHERS[name](space, 0), space, 50)
    assert found.ended
    assert len(found.points) == 5


@each
def test_a_space_without_knobs_has_no_points(name: str) -> None:
    assert SEARCHERS[name](Separable({}), 0).ask() is None


@each
def test_knobs_that_appear_later_are_left_out(name: str) -> None:
    space = Growing()
    found = search(SEARCHERS[name](space, 0), space, 40)
    assert {knob for point in found.points for knob in point.values} <= set(Separable().effects)


@each
def test_it_can_search_a_stage(name: str) -> None:
    space = Separable()
    order: tuple[Stage, ...] = ("layout", "kernel")
    found = search(Staged(space, 0, make=CLASSES[name], order=order, limit=12), space, 40)
    assert found.ended
    assert not any(point.at(*set(STAGES) - set(order)) for point in found.points)
    assert any(point.at("kernel") and point.at("layout") for point in found.points)


def test_nsga2_weighs_time_and_memory() -> None:
    space = Separable()
    searcher = SEARCHERS["nsga2"](space, 0)
    frugal = 0
    for _ in range(120):
        point = searcher.ask()
        assert point is not None
        few = "flags wide" not in point.values
        frugal += few
        # What is fast needs memory.
        searcher.tell(point, Result(1.1 if not few else 1.0, memory=100 if few else 100_000))
    assert 20 < frugal < 100


def test_optuna_is_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("tpe", "nsga2"):
        search(SEARCHERS[name](Separable(), 0), Separable(), 15)
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger("optuna").level >= logging.ERROR


def test_positions_and_points_correspond() -> None:
    start = Point.of({"layout w": "{1,0}", "kernel gone": "x"})
    union = KnobUnion(Separable(), start, STAGES)
    zeros = [0] * len(union.knobs)
    assert union.point(zeros) == start
    assert union.positions(start) == zeros
    other = start.but("layout w", "").but("flags wide", "on")
    positions = union.positions(other)
    assert positions is not None
    assert union.point(positions) == other
    assert union.positions(other.but("kernel gone", "")) is None
    assert union.positions(other.but("flags wide", "unknown")) is None


def test_the_names_are_known_without_the_libraries() -> None:
    script = (
        "import sys, experiments.search.tuning.searchers;"
        "print({'nevergrad', 'optuna', 'torch'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
