"""The method of recipes: those of the package that fit a program."""

import contextlib
from collections.abc import Iterator, Mapping

import jax
import jax.numpy as jnp
import pytest

from hlograph.decisions.plan_states import PREDICTED
from hlograph.measuring.trial import PlanMeasurement
from hlograph.optimization.methods.recipes import Recipes, shipped
from hlograph.plans import Numerics, Plan, Program
from hlograph.plans.flags import FLAGS
from hlograph.transforms.rules import rules


def _depthwise(x, w):
    y = jax.lax.conv_general_dilated(
        x, w, (1,), [(3, 0)], feature_group_count=64, dimension_numbers=("NHC", "HIO", "NHC")
    )
    return jnp.tanh(y)


PROGRAM = Program.of(jax.jit(_depthwise).lower(jnp.ones((2, 128, 64)), jnp.ones((4, 1, 64))))
ELEMENTWISE = Program.of(jax.jit(jnp.tanh).lower(jnp.ones(64)))


@contextlib.contextmanager
def _recipes(
    program: Program, numerics: Numerics = "close", hot: Mapping[str, float] | None = None
) -> Iterator[Recipes]:
    method = Recipes(program, numerics)
    method.tell([PlanMeasurement(Plan(), hot=hot)])
    with contextlib.closing(method):
        yield method


def test_the_recipes_are_of_rules_and_flags():
    for recipe in shipped():
        assert {*recipe.rules} <= {PREDICTED, *rules.names_for_time(exact=False)}
        assert recipe.rules or recipe.flags
        assert not any(FLAGS[name].fast for name in recipe.flags)


def test_recipes_whose_rules_have_a_place_are_proposed():
    with _recipes(PROGRAM) as method:
        plans = method.ask(100)
    methods = [plan.method for plan in plans]
    assert "recipes: depthwise-as-products" in methods
    assert not any("sort" in method for method in methods)
    steps = {step.partition("(")[0] for plan in plans for step in plan.steps}
    assert "depthwise-as-products" in steps
    assert any(plan.flags and not plan.steps for plan in plans)
    loops = "xla_cpu_small_while_loop_byte_threshold"
    assert not any(loops in plan.flags for plan in plans)  # there is no loop


def test_without_places_there_are_flags_alone():
    with _recipes(ELEMENTWISE) as method:
        plans = method.ask(100)
    assert plans
    assert all(plan.flags and not plan.steps for plan in plans)


@pytest.mark.parametrize("hot", [None, {"convolution": 1.0}, {"convolution": 0.0}])
def test_rules_about_cold_instructions_are_left_out(hot):
    with _recipes(PROGRAM, hot=hot) as method:
        methods = [plan.method for plan in method.ask(100)]
    is_cold = bool(hot) and not hot["convolution"]
    assert ("recipes: depthwise-as-products" in methods) == (not is_cold)


def test_exact_results_have_exact_rules_alone():
    with _recipes(PROGRAM, "exact") as method:
        plans = method.ask(100)
    steps = {step.partition("(")[0] for plan in plans for step in plan.steps if "(" in step}
    assert steps <= set(rules.names_for_time(exact=True))
