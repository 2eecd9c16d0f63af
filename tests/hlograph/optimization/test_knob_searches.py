"""Tests that all searchers pass."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlograph.optimization.methods.coordinate import Coordinate
from hlograph.optimization.methods.evolution import Evolution, Random
from hlograph.optimization.methods.knob_search import PointSpeed
from hlograph.plans.knobs import Point
from tests.hlograph.optimization.spaces import (
    Brittle,
    Growing,
    Interacting,
    Large,
    Separable,
    search,
)

SEARCHES = {"coordinate": Coordinate, "random": Random, "evolution": Evolution}

# Results within which the optimum of the separable space is found, with each of three seeds.
NEEDED = {"coordinate": 13, "random": 120, "evolution": 120}

each = pytest.mark.parametrize("name", SEARCHES)


def test_each_searcher_is_tested() -> None:
    assert set(NEEDED) == set(SEARCHES)


@each
@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_of_a_separable_space_is_found(name: str, seed: int) -> None:
    space = Separable()
    found = search(SEARCHES[name](space, seed), space, NEEDED[name])
    assert space.optimum in found.points


@each
def test_a_knob_is_found_that_appears_after_another_one_is_set(name: str) -> None:
    space = Growing()
    found = search(SEARCHES[name](space, 0), space, 150)
    assert space.optimum in found.points


@pytest.mark.parametrize("name", ["random", "evolution"])
def test_random_changes_find_values_that_help_only_together(name: str) -> None:
    space = Interacting()
    found = search(SEARCHES[name](space, 0), space, 250)
    assert found.best[-1] > 1.02 * math.exp(Separable().gain(Separable().optimum))


def test_one_value_at_a_time_misses_values_that_help_only_together() -> None:
    space = Interacting()
    found = search(SEARCHES["coordinate"](space, 0), space, 250)
    assert found.ended
    assert found.best[-1] == pytest.approx(math.exp(Separable().gain(Separable().optimum)))


@each
def test_noise_does_not_hide_what_brings_much(name: str) -> None:
    reached = []
    for seed in range(3):
        space = Large(seed)
        found = search(SEARCHES[name](space, seed), space, 150)
        reached.append(math.log(found.best[-1]) / space.gain(space.optimum))
    assert sum(reached) / 3 > 0.25  # of the logarithm of the optimum's ratio


@each
@pytest.mark.parametrize("in_flight", [1, 3])
@pytest.mark.parametrize("make", [Separable, Growing, Brittle, Large])
def test_no_point_is_proposed_twice(name: str, in_flight: int, make: type[Separable]) -> None:
    space = make()
    found = search(SEARCHES[name](space, 3), space, 100, in_flight)
    assert len(set(found.points)) == len(found.points)
    assert Point() not in found.points  # its ratio is 1 by definition


@each
def test_a_seed_determines_the_proposals(name: str) -> None:
    first, second = (search(SEARCHES[name](space, 7), space, 60) for space in (Large(), Large()))
    assert first.points == second.points


@pytest.mark.parametrize("name", ["random", "evolution"])
def test_seeds_differ(name: str) -> None:
    first, second = (search(SEARCHES[name](Large(), seed), Large(), 20) for seed in (0, 1))
    assert first.points != second.points


@each
def test_bad_points_do_not_keep_it_from_the_optimum(name: str) -> None:
    space = Brittle()
    found = search(SEARCHES[name](space, 0), space, 150)
    bad = [point for point in found.points if space.is_bad(point)]
    assert bad
    assert len(set(bad)) == len(bad)
    assert space.optimum in found.points


@each
def test_a_told_point_is_not_proposed_and_is_built_on(name: str) -> None:
    space = Separable()
    searcher = SEARCHES[name](space, 0)
    told = space.optimum.but("fusion a b", "")
    searcher.note(told, space.result(told))
    found = search(searcher, space, 80)
    assert told not in found.points
    assert space.optimum in found.points


@each
def test_it_ends_when_nothing_is_left(name: str) -> None:
    space = Separable({"layout a": {"{0,1}": 0.1}, "kernel b": {"library ynn": -0.2, "own": 0.1}})
    found = search(SEARCHES[name](space, 0), space, 50)
    assert found.ended
    assert space.optimum in found.points


@each
def test_a_space_without_knobs_has_no_points(name: str) -> None:
    assert SEARCHES[name](Separable({}), 0).propose() is None


@given(
    name=st.sampled_from(sorted(SEARCHES)),
    seed=st.integers(0, 2**32 - 1),
    ratios=st.lists(st.floats(0, 3), min_size=1, max_size=40),
    in_flight=st.integers(1, 4),
)
@settings(max_examples=30, deadline=None)
def test_any_results_leave_proposals_new_and_among_the_knobs(
    name: str, seed: int, ratios: list[float], in_flight: int
) -> None:
    space = Growing()
    searcher = SEARCHES[name](space, seed)
    values = {name: {"", *known} for name, known in space.effects.items()}
    seen: set[Point] = set()
    waiting: list[Point] = []
    for ratio in ratios:
        while len(waiting) < in_flight and (point := searcher.propose()) is not None:
            assert point not in seen
            assert all(value in values[knob] for knob, value in point.items)
            seen.add(point)
            waiting.append(point)
        if not waiting:
            break
        searcher.note(waiting.pop(), PointSpeed(ratio, 0.98 * ratio, 1.02 * ratio))
