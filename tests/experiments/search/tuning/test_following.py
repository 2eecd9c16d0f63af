"""Decisions are followed as far as they apply, in a process and in a worker."""

import pytest

from experiments.search.tuning.following import Follower, decisions_by, followed
from hlograph import corpus
from hlograph.decisions.decision_process import DecisionProcess
from hlograph.plans import Program
from hlograph.plans.knobs import Point, Recipe

RULE = "rule sort-prefix-as-top-k"
WIDE = "flags xla_cpu_prefer_vector_width = 512"
NARROW = "flags xla_cpu_prefer_vector_width = 128"


@pytest.fixture(scope="module")
def program():
    return Program.of(corpus.benchmark("selection/last-sorted/b16-n8192").load())


def test_what_does_not_apply_is_left_out(program):
    process = DecisionProcess(program)
    found = followed(process, (RULE, RULE, "rule gather-after-dot", WIDE, "no such decision"))
    assert found.decisions == (RULE, WIDE)
    assert found.plan.flags == {"xla_cpu_prefer_vector_width": 512}
    assert found.plan == process.plan(process.follow((RULE, WIDE)))


def test_a_later_value_of_a_knob_holds(program):
    found = followed(DecisionProcess(program), (WIDE, NARROW))
    assert found.decisions == (WIDE, NARROW)
    assert found.plan.flags == {"xla_cpu_prefer_vector_width": 128}


def test_a_worker_follows_in_the_same_way(program):
    follower = Follower(program)
    try:
        assert follower.follow((RULE, WIDE)) == followed(DecisionProcess(program), (RULE, WIDE))
        assert follower.follow(()).plan.is_empty
    finally:
        follower.close()


def test_a_recipe_is_said_as_decisions_in_several_ways():
    values = {
        "kernel k": "library none",
        "flags f": "true",
        "fusion u": "unfuse",
        "layout l": "swapped",
    }
    recipe = Recipe(("call-inliner", "a", "b"), Point.of(values))
    late = ("layout l = swapped", "flags f = true", "fusion u = unfuse", "kernel k = library none")
    assert decisions_by(recipe, ["a", "b", "c"]) == [
        ("rule a", "rule b", *late),
        ("rule predicted", *late),
        ("rule predicted", "rule a", "rule b", *late),
    ]
    assert decisions_by(recipe, []) == [late]
    assert decisions_by(Recipe(), ["a"]) == [()]
