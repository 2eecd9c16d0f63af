import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.measuring.trial import Job, PlanMeasurement
from hlograph.optimization.methods import Proposers, methods
from hlograph.optimization.methods.forms import Forms, RuleScope, Sweeps
from hlograph.plans import Measured, Plan, Program
from hlograph.plans.transforming import transformed
from hlograph.transforms.rules import rules
from tests.hlograph.optimization.outcomes import asked

SORT = "sort-by-integer-keys"
PREFIX = "sort-prefix-as-top-k"
X = np.linspace(0, 1, 64, dtype=np.float32).reshape(4, 16)
DEPTHWISE = jnp.ones((3, 3, 1, 8))
Y = np.linspace(0, 1, 60, dtype=np.float32).reshape(2, 30)


def _program(function, *arguments):
    return Program.of(jax.jit(function).lower(*arguments))


def _depthwise(x, w):
    numbers = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=numbers, feature_group_count=8
    )


def _three_forms(x, w):
    return jnp.sort(_depthwise(x, w).reshape(8, -1))[:, :100], jnp.arctan2(x, x + 1)


def _rules_of(plan):
    return plan.method.removeprefix("forms: ").split(", ")


def _all_plans(method, ratio):
    """Returns all plans of a method that is told of each one's ratio."""
    plans = []
    while (plan := asked(method)) is not None:
        plans.append(plan)
        method.tell([_outcome(plan, ratio(plan))])
    return plans


def _outcome(plan, ratio):
    return PlanMeasurement(plan, measured=Measured(1.0, 1 / ratio, ratio, ratio, ratio, 1.0, 3))


@pytest.fixture(scope="module")
def sorts():
    """A program with three sorts of two shapes, of one of which a prefix is used."""

    def sorts(x, y):
        return jnp.sort(x) + jnp.sort(2 * x), jnp.sort(y)[:, :3]

    return _program(sorts, X, Y)


def test_methods_of_one_search_list_places_once(sorts):
    first, second = Sweeps.shared(sorts, (SORT,)), Sweeps.shared(sorts, (SORT,))
    assert first is second
    assert Sweeps.shared(sorts, ()) is not first
    first.close()
    assert second.steps((RuleScope(SORT),))  # the process lives as long as one of them
    second.close()
    assert not second.steps((RuleScope(SORT),))
    assert Sweeps.shared(sorts, (SORT,)) is not second


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
    assert sweeps.steps((RuleScope("merge-dots:lhs"),)) == ()


def test_other_plans_come_first_while_places_are_listed(sorts):
    proposers = Proposers(Job(sorts, None, "close"), methods(("forms", "flags")))
    first = asked(proposers)
    assert first is not None
    assert first.method.startswith("flags: ")
    rest = [plan.method for plan in iter(lambda: asked(proposers), None)]
    proposers.close()
    assert f"forms: {SORT}" in rest


def test_rules_that_help_are_joined_and_others_are_not(sorts):
    method = Forms(sorts, "close")
    alone = {}
    while (plan := asked(method)) is not None:
        alone.setdefault(plan.method, plan)
        transformed(sorts, plan)
    assert {f"forms: {SORT}", f"forms: {PREFIX}"} <= set(alone)
    assert all(plan.fingerprint == sorts.fingerprint for plan in alone.values())
    for name, plan in alone.items():
        method.tell(
            [_outcome(plan, {f"forms: {SORT}": 1.5, f"forms: {PREFIX}": 1.2}.get(name, 0.9))]
        )
    joined = asked(method)
    assert joined is not None
    method.tell([_outcome(joined, 0.9)])
    assert set(joined.method.removeprefix("forms: ").split(", ")) == {SORT, PREFIX}
    assert {step.partition("(")[0] for step in joined.steps[1:]} == {SORT, PREFIX}
    # Kernels alone are left to try, in the place of one of the two.
    kernels = {rule.name for rule in rules.of_kernels}
    while (plan := asked(method)) is not None:
        assert kernels & set(_rules_of(plan))
        method.tell([_outcome(plan, 0.9)])


def test_the_first_plan_has_what_is_predicted_to_save_time():
    def first(x, y):
        return jnp.sort(x)[:, :4], jnp.power(y, 4.0)

    program = _program(first, jnp.ones((64, 4096)), Y)
    plan = asked(Forms(program, "close"))
    assert plan is not None
    assert PREFIX in _rules_of(plan)
    assert SORT not in _rules_of(plan)  # no sort is left
    module = program.module()
    before = module.seconds()
    for step in plan.steps:
        module.run(step) if "(" not in step else module.apply(step)
    assert module.seconds() < before / 2


@pytest.mark.parametrize("share", [0.01, 0.5])
def test_rules_are_left_out_where_the_default_spends_no_time(sorts, share):
    method = Forms(sorts, "close")
    assert asked(method) is not None
    method.tell([PlanMeasurement(Plan(), hot={"sort": share})])
    rest = []
    while (plan := asked(method)) is not None:
        rest.append(plan.method)
    assert (f"forms: {SORT}" in rest) == (share == 0.5)


@pytest.mark.parametrize("hot", [("sort", "atan2"), ("atan2", "sort")])
def test_rules_that_save_little_are_tried_where_the_default_spends_its_time(hot):
    method = Forms(_program(_three_forms, jnp.ones((1, 32, 32, 8)), DEPTHWISE), "close")
    first = asked(method)
    assert first is not None
    shares = dict(zip(hot, (0.5, 0.3), strict=True))
    # A default of a second: these small arrays cannot save a fiftieth of it.
    method.tell(
        [PlanMeasurement(first, measured=Measured(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3), hot=shares)]
    )
    alone = [_rules_of(plan)[0] for plan in _all_plans(method, lambda _: 0.5)]
    kinds = ["atan2" if rule.startswith("arctangent") else "sort" for rule in alone]
    assert kinds[0] == hot[0]
    assert hot[1] in kinds


def test_loops_are_tried_in_blocks_before_they_are_unrolled():
    def sweep(a, b):
        start = jnp.zeros(20_000)
        return jax.lax.scan(lambda h, x: (h * x[0] + x[1],) * 2, start, (a.T, b.T))[1].T

    x = jax.ShapeDtypeStruct((20_000, 100), jnp.float32)
    method = Forms(_program(sweep, x, x), "close")
    measured = Measured(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3)
    method.tell([PlanMeasurement(Plan(), measured=measured, hot={"while": 0.9})])
    alone = [_rules_of(plan)[0] for plan in _all_plans(method, lambda _: 0.5)]
    assert "loop-in-blocks" in alone
    first = [rule for rule in alone if "loop" in rule]
    assert first[0] == "loop-in-blocks"


def test_rules_that_hurt_are_left_out_of_the_predicted_ones():
    method = Forms(_program(_three_forms, jnp.ones((1, 32, 32, 8)), DEPTHWISE), "close")
    plans = []
    while (plan := asked(method)) is not None:
        plans.append(plan)
    predicted = plans[0]
    hurt = "kernel-convolution"
    assert {hurt, "kernel-sort"} <= set(_rules_of(predicted))
    for plan in plans:
        method.tell([_outcome(plan, 0.9 if _rules_of(plan) == [hurt] else 1.0)])
    after = asked(method)
    assert after is not None
    others = set(_rules_of(predicted)) - {hurt}
    assert hurt not in _rules_of(after)
    assert others <= set(_rules_of(after))  # and what was behind it at its places


def test_rules_that_only_pay_together_are_tried_together(sorts):
    plans = _all_plans(Forms(sorts, "close"), lambda plan: 0.6)
    assert any({SORT, PREFIX} <= set(_rules_of(plan)) for plan in plans)
    assert len({plan.digest for plan in plans}) == len(plans)


def test_the_fastest_plan_is_tried_without_each_of_its_rules():
    method = Forms(_program(_three_forms, jnp.ones((1, 32, 32, 8)), DEPTHWISE), "close")
    first = asked(method)
    assert first is not None
    method.tell([_outcome(first, 2.0)])
    found = [set(_rules_of(plan)) for plan in _all_plans(method, lambda plan: 1.0)]
    fastest = set(_rules_of(first))
    assert len(fastest) >= 3
    for rule in fastest:
        assert any(rule not in others and fastest - {rule} <= others for others in found)


def test_exact_results_leave_out_rules_that_round(sorts):
    program = _program(_depthwise, jnp.ones((1, 6, 6, 8)), DEPTHWISE)
    assert asked(Forms(program, "exact")) is None
    plan = asked(Forms(program, "close"))
    assert plan is not None
    assert plan.numerics == "close"


def test_a_program_without_patterns_has_no_plans():
    assert asked(Forms(_program(jnp.tanh, X), "close")) is None
