"""Decisions are followed as far as they apply; the fewest that are as fast as a plan are found."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.evaluate import best_decisions
from experiments.search.tuning import teaching
from experiments.search.tuning.teaching import Follower, decisions_by, fewest, followed
from experiments.tune.results import RaceResult
from experiments.tune.teach import main
from hlograph import corpus
from hlograph.decisions.plan_states import PlanStates
from hlograph.plans import Plan, Program
from hlograph.plans.knobs import Point, Recipe
from tests.hlograph.own_machine import SHORT, SHORT_SCREEN, own_lock

__all__ = ["own_lock"]

RULE = "rule sort-prefix-as-top-k"
WIDE = "flags xla_cpu_prefer_vector_width = 512"
NARROW = "flags xla_cpu_prefer_vector_width = 128"


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from([0.0, 0.001, 0.1, 0.5])))
def test_decisions_that_bring_nothing_are_left_out(gains):
    def screened(decisions):
        return decisions, math.exp(sum(gains[name] for name in decisions))

    found = fewest([tuple(gains), ()], screened)
    assert set(found) == {name for name, gain in gains.items() if gain > 0.01}
    assert list(found) == [name for name in gains if name in found]


def test_the_fastest_way_is_taken_and_what_hurts_is_left_out():
    ratios = {("a",): 1.2, ("b", "c"): 1.5, ("b",): 1.6, ("c",): 0.9}
    assert fewest([("a",), ("b", "c")], lambda some: (some, ratios.get(some, 1.0))) == ("b",)


def test_of_ways_that_are_as_fast_the_shortest_is_taken_and_then_the_first():
    ratios = {("a", "b"): 1.51, ("c",): 1.5, ("d",): 1.505}
    assert fewest(list(ratios), lambda some: (some, ratios.get(some, 1.0))) == ("c",)


def test_a_plan_that_is_refused_is_no_way():
    ratios = {("a",): 0.0, (): 1.0}
    assert fewest([("a",), ()], lambda some: (some, ratios[some])) == ()


@pytest.fixture
def run(tmp_path):
    """Returns a function that makes the folder of a search's result for a program."""

    def made(name, decisions, plans):
        subject = corpus.benchmark(name)
        process = PlanStates(Program.of(subject.load()))
        plan = process.plan(process.follow(decisions)) if decisions else Plan()
        method = "found" if decisions else ""
        result = RaceResult("joint", 0, name, subject.family, method=method, plans=plans, plan=plan)
        result.save(tmp_path / "races" / "joint" / "seed-0")
        return tmp_path

    return made


def test_decisions_of_a_found_plan_are_recorded(run, tmp_path, own_lock, capsys, monkeypatch):
    monkeypatch.setattr(teaching, "SCREEN", SHORT_SCREEN)
    monkeypatch.setattr(teaching, "_FINAL", SHORT)
    folder = run("selection/last-sorted/b16-n8192", (RULE,), 30)
    run("selection/first-ordered/b64-n8192", (), 3)
    run("transpose/sum/n64", (), 12)
    file = tmp_path / "best.jsonl"
    assert main([str(folder), "--no-plan-times", "--file", str(file)]) == 0
    known = best_decisions.read(file)
    assert "recorded the decisions about 2 of 2 programs" in capsys.readouterr().out
    assert known.keys() == {"selection/last-sorted/b16-n8192", "transpose/sum/n64"}
    fast, default = (known[name] for name in sorted(known))
    # Where the processor sorts fast, a native kernel is predicted to pay, and does.
    assert fast.decisions in ((RULE,), ("rule predicted",))
    assert fast.ratio > 1
    assert fast.measured == 30
    assert (default.decisions, default.ratio) == ((), 1.0)


def test_a_folder_without_results_is_refused(tmp_path, capsys):
    assert main([str(tmp_path), "--no-plan-times"]) == 2
    assert "expected plans of other programs of the train split" in capsys.readouterr().err


@pytest.fixture(scope="module")
def program():
    return Program.of(corpus.benchmark("selection/last-sorted/b16-n8192").load())


def test_what_does_not_apply_is_left_out(program):
    process = PlanStates(program)
    found = followed(process, (RULE, RULE, "rule gather-after-dot", WIDE, "no such decision"))
    assert found.decisions == (RULE, WIDE)
    assert found.plan.flags == {"xla_cpu_prefer_vector_width": 512}
    assert found.plan == process.plan(process.follow((RULE, WIDE)))


def test_a_later_value_of_a_knob_holds(program):
    found = followed(PlanStates(program), (WIDE, NARROW))
    assert found.decisions == (WIDE, NARROW)
    assert found.plan.flags == {"xla_cpu_prefer_vector_width": 128}


def test_a_worker_follows_in_the_same_way(program):
    follower = Follower(program)
    try:
        assert follower.follow((RULE, WIDE)) == followed(PlanStates(program), (RULE, WIDE))
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
