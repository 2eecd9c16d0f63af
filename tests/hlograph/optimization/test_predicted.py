"""The method that proposes the plan which is predicted to be fastest."""

import jax
import jax.numpy as jnp

from hlograph.decisions.searches import names
from hlograph.errors import WorkerLostError
from hlograph.isolation import Remote
from hlograph.optimization.methods import methods
from hlograph.optimization.methods.predicted import Predicted
from hlograph.plans import Program, compile_program


def program_of(function, *shape):
    return Program.of(jax.jit(function).lower(jax.ShapeDtypeStruct(shape, jnp.float32)))


def proposed(program, numerics="close"):
    method = Predicted(program, numerics)
    try:
        return [plan for _ in range(3) for plan in method.ask(1)]
    finally:
        method.close()


def test_one_plan_is_proposed_and_it_compiles():
    program = program_of(lambda x: jnp.sort(x)[:, :4], 64, 4096)
    (plan,) = proposed(program)
    assert plan.method == "predicted"
    assert any("sort" in step for step in plan.steps)
    assert compile_program(program, plan) is not None


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


def test_it_is_found_by_its_name():
    assert "predicted" not in names()  # it is tried if it is named
    assert methods(["predicted"])["predicted"] is not None
