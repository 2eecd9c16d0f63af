import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.measuring.trial import Outcome
from hlograph.optimization.methods.forms import Forms
from hlograph.optimization.methods.sweeps import Choice, Sweeps
from hlograph.plans import Measured
from hlograph.plans.transforming import transformed
from hlograph.programs import Program

SORT = "sort-by-integer-keys"
PREFIX = "sort-prefix-as-top-k"
X = np.linspace(0, 1, 64, dtype=np.float32).reshape(4, 16)
Y = np.linspace(0, 1, 60, dtype=np.float32).reshape(2, 30)


def _program(function, *arguments):
    return Program.of(jax.jit(function).lower(*arguments))


def _outcome(plan, ratio):
    return Outcome(plan, measured=Measured(1.0, 1 / ratio, ratio, ratio, ratio, 1.0, 3))


@pytest.fixture(scope="module")
def sorts():
    """A program with three sorts of two shapes, of one of which a prefix is used."""

    def sorts(x, y):
        return jnp.sort(x) + jnp.sort(2 * x), jnp.sort(y)[:, :3]

    return _program(sorts, X, Y)


def test_rules_are_listed_as_a_whole_and_by_shape(sorts):
    choices = Sweeps(sorts, (SORT,)).choices()
    assert [(one.rule, one.places) for one in choices if not one.group] == [(SORT, 3)]
    groups = {one.places: one.group for one in choices if one.group}
    assert set(groups) == {1, 2}
    assert "f32[2,30]" in groups[1]
    assert "f32[4,16]" in groups[2]


def test_steps_are_those_of_the_choices(sorts):
    sweeps = Sweeps(sorts, (SORT,))
    whole, *groups = sweeps.choices()
    assert len(sweeps.steps((whole,))) == 1 + 3
    assert sorted(len(sweeps.steps((group,))) for group in groups) == [1 + 1, 1 + 2]
    assert set(sweeps.steps(tuple(groups))) == set(sweeps.steps((whole,)))
    assert sweeps.steps((Choice("merge-dots:lhs"),)) == ()


def test_rules_that_help_are_joined_and_others_are_not(sorts):
    method = Forms(sorts, "close")
    alone = {}
    while (plan := method.ask()) is not None:
        alone.setdefault(plan.method, plan)
        transformed(sorts, plan)
    assert {f"forms: {SORT}", f"forms: {PREFIX}"} <= set(alone)
    assert all(plan.fingerprint == sorts.fingerprint for plan in alone.values())
    for name, plan in alone.items():
        method.tell(_outcome(plan, {f"forms: {SORT}": 1.5, f"forms: {PREFIX}": 1.2}.get(name, 0.9)))
    joined = method.ask()
    assert joined is not None
    method.tell(_outcome(joined, 0.9))
    assert set(joined.method.removeprefix("forms: ").split(", ")) == {SORT, PREFIX}
    assert {step.partition("(")[0] for step in joined.steps[1:]} == {SORT, PREFIX}
    assert method.ask() is None


def test_rules_that_only_pay_together_are_tried_together(sorts):
    method = Forms(sorts, "close")
    alone = []
    while (plan := method.ask()) is not None:
        alone.append(plan)
    for plan in alone:
        method.tell(_outcome(plan, 0.6))
    together = method.ask()
    assert together is not None
    assert {SORT, PREFIX} <= set(together.method.removeprefix("forms: ").split(", "))
    assert together.digest not in {plan.digest for plan in alone}
    method.tell(_outcome(together, 0.6))
    assert method.ask() is None


def test_exact_results_leave_out_rules_that_round(sorts):
    def depthwise(x, w):
        numbers = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=numbers, feature_group_count=8
        )

    program = _program(depthwise, jnp.ones((1, 6, 6, 8)), jnp.ones((3, 3, 1, 8)))
    assert Forms(program, "exact").ask() is None
    plan = Forms(program, "close").ask()
    assert plan is not None
    assert plan.numerics == "close"


def test_a_program_without_patterns_has_no_plans():
    assert Forms(_program(jnp.tanh, X), "close").ask() is None
