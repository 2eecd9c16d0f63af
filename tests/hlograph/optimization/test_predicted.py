"""The method that proposes what is predicted to be fast."""

import time

import jax
import jax.numpy as jnp
import pytest

from hlograph.decisions.searches import names
from hlograph.errors import WorkerLostError
from hlograph.isolation import Remote
from hlograph.optimization import program_space
from hlograph.optimization.methods import methods
from hlograph.optimization.methods.coordinate import JointSearch
from hlograph.optimization.methods.predicted import Predicted
from hlograph.optimization.program_space import ProgramSpace
from hlograph.plans import Plan, Program, compile_program
from tests.hlograph.optimization.outcomes import asked, made_outcome


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Predicts to the end, also on a busy machine."""
    monkeypatch.setattr(program_space, "_PREDICTING", 300.0)


def program_of(function, *shape):
    return Program.of(jax.jit(function).lower(jax.ShapeDtypeStruct(shape, jnp.float32)))


def proposed(program, numerics="close"):
    method = Predicted.of_program(program, numerics)
    try:
        return [plan for _ in range(9) for plan in method.ask(1)]
    finally:
        method.close()


def test_a_plan_of_all_decisions_comes_before_single_ones_and_all_compile():
    program = program_of(lambda x: jnp.sort(x)[:, :4], 64, 4096)
    plan, *single = proposed(program)
    assert any("sort" in step for step in plan.steps)
    assert len({each.digest for each in (plan, *single)}) == 1 + len(single)
    assert 1 <= len(single) <= 3
    for each in (plan, *single):
        assert each.method.startswith("predicted: ")
        assert compile_program(program, each) is not None


def test_a_program_that_has_nothing_to_decide_keeps_the_default():
    assert proposed(program_of(lambda x: x, 8)) == []


def test_exact_results_take_no_rule_that_rounds():
    program = program_of(lambda x: jnp.power(x, 4.0), 512, 512)
    assert all("power-as" not in step for plan in proposed(program, "exact") for step in plan.steps)


def test_the_end_of_a_process_costs_the_plan(monkeypatch):
    def lose(remote, method, *args):
        raise WorkerLostError("the process ended")

    monkeypatch.setattr(Remote, "call", lose)
    assert proposed(program_of(jnp.sin, 8)) == []


def test_an_error_is_raised_where_points_are_asked_for(monkeypatch):
    def fail(remote, method, *args):
        raise TypeError("a fault of the code")

    monkeypatch.setattr(Remote, "call", fail)
    method = Predicted.of_program(program_of(jnp.sin, 8), "close")
    try:
        with pytest.raises(TypeError, match="fault"):
            method.ask(1)
    finally:
        method.close()


def test_it_is_found_by_its_name():
    assert "predicted" not in names()  # it is tried if it is named
    assert methods(["predicted"])["predicted"] is not None


def test_the_joint_search_begins_with_what_is_predicted_and_goes_on_from_it():
    program = program_of(lambda x: jnp.sort(x)[:, :4], 64, 4096)
    search = JointSearch.of_program(program, "close")
    try:
        best = asked(search)
        assert best.method.startswith("predicted: ")
        assert search.comes_first
        assert search.waits_for == 0
        search.tell([made_outcome(best, ratio=9.0, thorough=False)])
        plans = [asked(search) for _ in range(3)]
        assert any(plan.method.startswith("joint: ") for plan in plans)
        assert all(set(best.steps) <= set(plan.steps) for plan in plans)
    finally:
        search.close()


def test_it_goes_on_from_the_fastest_plan_of_all_methods():
    program = program_of(lambda x: jnp.sort(x)[:, :4], 64, 4096)
    search = Predicted(ProgramSpace(program), goes_on=True)
    flags = {"xla_cpu_prefer_vector_width": 512}
    faster = Plan(program.name, program.fingerprint, flags=flags)
    try:
        search.tell([made_outcome(faster, ratio=9.0, thorough=False)])
        first = asked(search)  # what is predicted beside the default is not lost
        assert not first.flags
        search.tell([made_outcome(first, ratio=1.0, thorough=False)])
        plans = [first]
        until = time.monotonic() + 60
        while not (plans[-1].steps and plans[-1].flags == flags) and time.monotonic() < until:
            plans += search.ask(1)
        assert plans[-1].flags == flags
        assert plans[-1].steps
    finally:
        search.close()
    # A final tells of plans when nothing is proposed any more.
    search.tell([made_outcome(first, ratio=99.0, thorough=False)])
