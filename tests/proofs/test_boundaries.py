"""Rules are offered where the clauses of their claims hold, and not beyond."""

from dataclasses import replace

import pytest

from benchmarks.speed_rules.convolution import Axis, HloConvolution
from tests.proofs.boundaries import BOUNDARIES
from tests.proofs.boundaries.boundary import Boundary, sides_of


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda each: f"{each.rule}: {each.clause}")
def test_no_rule_goes_beyond_its_claim(boundary):
    sides = sides_of(boundary)
    assert {side.holds for side in sides} == {True, False}
    assert not [side.number for side in sides if side.is_unsafe]


def test_numbers_are_those_of_the_clause():
    def numbers(clause):
        return [*Boundary("", clause, str).sides()]

    assert numbers("at most 80 taps") == [(80, True), (79, True), (81, False)]
    assert numbers("at least 4 wide") == [(4, True), (5, True), (3, False)]
    assert numbers("64 of groups, 16 of one") == [(64, True), (63, True), (65, False)]
    ends = [(7, False), (8, True), (1024, True), (1025, False)]
    assert numbers("8 to 1,024 elements in all") == ends
    assert numbers("at most 2^30 in a row") == numbers("no groups") == [(1, True), (0, False)]


def test_a_rule_that_goes_beyond_its_claim_is_found():
    def one_tap_less(n):
        return HloConvolution((Axis(size=n + 8, taps=n - 1),), feature_groups=3).text()

    right = next(each for each in BOUNDARIES if each.rule == "depthwise-as-products")
    wrong = replace(right, program=one_tap_less)
    assert [side.number for side in sides_of(wrong) if side.is_unsafe] == [81]


def test_a_clause_that_the_claim_does_not_have_is_refused():
    with pytest.raises(ValueError, match="expected a clause"):
        sides_of(replace(BOUNDARIES[0], clause="at most 7 taps"))
