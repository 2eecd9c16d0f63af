import logging
import subprocess
import sys

import numpy as np
import pytest

from experiments.search.tuning.libraries import TPE, OnePlusOne
from hlograph.optimization.methods import methods
from hlograph.optimization.methods.knob_search import PointSpeed
from hlograph.plans.knobs import Point
from tests.hlograph.optimization.spaces import Brittle, Growing, Large, Separable, search

SEARCHES = {"one-plus-one": OnePlusOne, "tpe": TPE}

# Results within which the optimum of the separable space is found, with seed 0.
NEEDED = {"one-plus-one": 40, "tpe": 80}

each = pytest.mark.parametrize("name", NEEDED)


@each
def test_each_is_a_method_by_name(name: str) -> None:
    (make,) = methods([f"knobs-{name}"], seed=3).values()
    assert make.keywords == {"seed": 3}
    assert make.func.__self__.name == SEARCHES[name].name == f"knobs-{name}"


@each
def test_the_optimum_of_a_separable_space_is_found(name: str) -> None:
    space = Separable()
    found = search(SEARCHES[name](space, 0), space, NEEDED[name])
    assert space.optimum in found.points


@each
@pytest.mark.parametrize("in_flight", [1, 3])
def test_no_point_is_proposed_twice(name: str, in_flight: int) -> None:
    space = Brittle()
    found = search(SEARCHES[name](space, 1), space, 60, in_flight)
    assert len(set(found.points)) == len(found.points) == 60 + in_flight - 1
    assert Point() not in found.points


@each
def test_a_seed_determines_the_proposals(name: str) -> None:
    first, second, other = (
        search(SEARCHES[name](space, seed), space, 30).points
        for space, seed in ((Large(), 7), (Large(), 7), (Large(), 8))
    )
    assert first == second != other


@each
def test_a_told_point_is_not_proposed_and_is_built_on(name: str) -> None:
    space = Separable()
    told = space.optimum.but("fusion a b", "")
    shared = []
    for tells in (0, 1):
        searcher = SEARCHES[name](space, 1)
        searcher.note(space.optimum.but("fusion unknown", "x"), PointSpeed(0.1))  # is left out
        for _ in range(tells):
            searcher.note(told, space.result(told))
        points = search(searcher, space, 60).points
        assert not tells or told not in points
        shared.append(np.mean([len(set(point.items) & set(told.items)) for point in points]))
    assert shared[1] > shared[0]


@each
def test_it_ends_when_nothing_is_left(name: str) -> None:
    space = Separable({"layout a": {"{0,1}": 0.1}, "kernel b": {"library ynn": -0.2, "own": 0.1}})
    found = search(SEARCHES[name](space, 0), space, 50)
    assert found.ended
    assert len(found.points) == 5


@each
def test_a_space_without_knobs_has_no_points(name: str) -> None:
    assert SEARCHES[name](Separable({}), 0).propose() is None


@each
def test_knobs_that_appear_later_are_left_out(name: str) -> None:
    space = Growing()
    found = search(SEARCHES[name](space, 0), space, 40)
    assert {knob for point in found.points for knob in point.values} <= set(Separable().effects)


def test_optuna_is_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    search(SEARCHES["tpe"](Separable(), 0), Separable(), 15)
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger("optuna").level >= logging.ERROR


def test_the_names_are_known_without_the_libraries() -> None:
    script = (
        "import sys, experiments.search.tuning.libraries;"
        "print({'nevergrad', 'optuna', 'torch'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
