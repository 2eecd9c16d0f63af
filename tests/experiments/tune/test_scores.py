"""Tests of means, shares and curves of competitors, on known results."""

import math
from dataclasses import replace

import pytest

from experiments.tune.results import by_machine
from experiments.tune.scores import Scores, best_at
from hlograph.storage.machine import machine
from tests.experiments.tune.known_results import CURVE, KEPT, RESULTS, result

SCORES = Scores.of(RESULTS)


def test_a_program_counts_with_the_mean_of_its_seeds():
    assert SCORES.programs == ["a", "b", "c"]
    assert SCORES.competitors == ["joint", "flags,greedy"]
    assert SCORES.seeds == [0, 1]
    assert SCORES.not_compared == {}
    assert SCORES.by_program("joint") == pytest.approx({"a": 2.0, "b": 1.15, "c": math.sqrt(0.9)})
    assert SCORES.by_seed("joint") == pytest.approx(
        {0: (4 * 1.15) ** (1 / 3), 1: (1.15 * 0.9) ** (1 / 3)}
    )


def test_competitors_beside_each_other():
    mean, low, high = SCORES.beside("joint", "flags,greedy")
    assert mean == pytest.approx((2 * 1.15 * math.sqrt(0.9)) ** (1 / 3))
    assert low < mean < high
    assert SCORES.beside("flags,greedy", "joint")[0] == pytest.approx(1 / mean)


def test_programs_that_not_all_competitors_measured_are_left_out():
    failed = result("joint", "d", 1.0, error="does not compile")
    more = [failed, result("flags,greedy", "d", 2.0), result("joint", "e", 3.0)]
    not_final = [result("joint", "f", 2.0, low=1.0, high=1.0), result("flags,greedy", "f", 2.0)]
    scores = Scores.of([*RESULTS, *more, *not_final])
    assert scores.programs == ["a", "b", "c"]
    assert scores.not_compared == {"d": "does not compile", "e": "", "f": ""}
    assert Scores.of([]).programs == []


@pytest.mark.parametrize(
    ("seconds", "best"), [(0, 1.0), (5, 1.0), (14.9, 1.0), (15, 2.0), (24, 2.0), (60, 2.5)]
)
def test_what_was_found_by_when(seconds, best):
    assert best_at(CURVE, seconds) == best
    assert best_at(KEPT.curve, seconds) == 1.0


def test_mean_of_what_was_found_by_when():
    # One of two seeds on the first program, both on the second, one on the third.
    expected = (math.sqrt(2) * 2 * math.sqrt(2)) ** (1 / 3)
    assert SCORES.by_when("joint", 20) == pytest.approx(expected)
    assert SCORES.by_when("flags,greedy", 20) == 1.0


def test_machines_of_two_kinds_are_never_mixed():
    here, there = machine(), replace(machine(), cpu="another")
    mine = [result("joint", name, 2.0, machine=here) for name in "ab"]
    theirs = [result("joint", "c", 3.0, machine=there)]
    lost = result("joint", "d", 1.0, error="not measured")
    assert by_machine([*mine, lost]) == {None: [*mine, lost]}
    kinds = by_machine([*mine, *theirs, lost])
    assert kinds == {here: [*mine, lost], there: [*theirs, lost]}
    assert Scores.of(kinds[there]).programs == ["c"]


def test_seconds_until_another_one_s_ratio():
    end = SCORES.at_the_end("joint")
    itself = SCORES.seconds_to("joint", end)
    assert SCORES.by_when("joint", itself) == pytest.approx(end)
    assert SCORES.by_when("joint", itself - 0.01) < end
    assert SCORES.seconds_to("joint", 1.0) == min(point.seconds for point in CURVE)
    assert SCORES.seconds_to("flags,greedy", end) == math.inf
