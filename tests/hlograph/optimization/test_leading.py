"""Tests of the plans that lead, that have lost, and that are measured again."""

import pytest

from hlograph.measuring.trial import PlanMeasurement
from hlograph.optimization.leading import finalists, has_lost, in_final, leads, may_beat, winner_of
from hlograph.plans import Plan
from tests.hlograph.optimization.outcomes import made_outcome

_PLAN = Plan(flags={"xla_cpu_prefer_vector_width": 512})
_LEADS, _LOSES = made_outcome(_PLAN), made_outcome(_PLAN, ratio=1.0, low=0.9)
_REFUSED = PlanMeasurement(_PLAN, thorough=True, error="outputs are different")


@pytest.mark.parametrize(
    ("before", "now", "lost"),
    [
        ([], [], False),
        ([_LOSES], [], False),
        ([_LOSES, _LOSES], [], True),
        ([_LOSES, _LEADS, _LOSES], [], False),
        ([_LEADS, _LOSES, _LOSES], [], True),
        ([_LOSES, _LOSES, _LEADS], [], False),
        ([_REFUSED], [], True),
        ([], [_LEADS, _LEADS], False),
        ([], [_LEADS, _LOSES], True),
        ([_LEADS], [_LOSES, _LEADS], True),
    ],
)
def test_plans_that_have_lost(before, now, lost):
    assert has_lost(before, now) is lost


@pytest.mark.parametrize(
    ("changed", "ahead"),
    [
        ({}, True),
        ({"thorough": False}, False),
        ({"low": 0.99}, False),
        ({"ratio": 1.02, "low": 1.01}, False),
        ({"control": 1.15}, False),
        ({"control": 0.85}, False),
        ({"seconds": 1e-6}, False),  # 0.2 us: less than a call costs
    ],
)
def test_leads(changed, ahead):
    assert leads(made_outcome(_PLAN, **changed)) is ahead
    assert not leads(PlanMeasurement(_PLAN, thorough=True, error="lost"))


def _screened(name, ratio, low, decisions=1):
    flags = {"xla_cpu_prefer_vector_width": 512, "xla_cpu_disable_loop_unrolling": True}
    plan = Plan(name, flags=dict(list(flags.items())[:decisions]))
    return made_outcome(plan, ratio, low, thorough=False)


def test_finalists_lead_with_their_whole_interval_and_the_simplest_of_the_fastest_is_first():
    fast, simple = _screened("a", 1.5, 1.45, decisions=2), _screened("b", 1.47, 1.42)
    slower, doubtful = _screened("c", 1.2, 1.1), _screened("d", 1.6, 0.99)
    level = _screened("e", 1.02, 1.01)
    found = [slower, doubtful, fast, level, simple]
    assert finalists([], found) == [simple, fast, slower]
    assert finalists(found[:2], found[2:], doubtful=True) == [doubtful]


def test_a_plan_that_has_lost_is_no_finalist():
    found = _screened("a", 1.5, 1.4)
    lost = made_outcome(found.plan, ratio=1.0, low=0.9)
    assert finalists([found, lost], []) == [found]  # once, in an earlier race
    assert finalists([found, lost], [lost]) == []


def test_the_simplest_plan_that_leads_is_in_the_final():
    by_load = [
        made_outcome(Plan(steps=("dce",) * n), 70.0, 70.0 - n, thorough=False) for n in (2, 3, 4)
    ]
    simple = _screened("rule", 30.0, 29.0)
    leading = finalists([], [simple, *by_load])
    assert in_final(leading, 3) == [by_load[0], simple, by_load[1]]
    assert in_final(leading[:1], 3) == leading[:1]
    assert in_final([], 3) == []


def test_a_plan_that_was_slower_on_a_quiet_machine_needs_no_final():
    winner = made_outcome(_PLAN, ratio=20.0, low=19.0)
    assert may_beat(_screened("a", 38.0, 37.0), winner)
    assert not may_beat(_screened("b", 1.2, 1.1), winner)
    assert may_beat(made_outcome(_PLAN, ratio=1.2, thorough=False, load=0.4), winner)


@pytest.mark.parametrize(
    ("ratio", "load", "simple"),
    [(29.5, 0.0, True), (28.0, 0.0, False), (28.0, 0.5, True), (19.0, 0.5, False)],
)
def test_among_winners_the_simplest_of_those_near_is_taken_and_more_are_near_under_load(
    ratio, load, simple
):
    two = made_outcome(Plan(steps=("dce", "cse")), ratio=31.0, low=30.0, load=load)
    one = made_outcome(_PLAN, ratio=ratio + 1, low=ratio)
    assert winner_of([two, one]) == (one if simple else two)
    assert winner_of([]) is None
