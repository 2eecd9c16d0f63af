"""Decisions that were recorded alone: what trees learn of them, and how they are compared."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.cost_model.decided import (
    _Choice,
    _has_one_more,
    _local,
    _row,
    recorded_actions,
    seconds_table,
    words_of_decided,
)
from hlograph.corpus import plan_times
from hlograph.corpus.plan_times import PlanTime, PlanTimes, RunKernel
from hlograph.decisions.plan_states import PlanStates
from hlograph.decisions.predicted_gains import after_predicted_rules
from hlograph.plans import Program
from hlograph.plans.knobs import Point
from hlograph.plans.versions import STEPS
from hlograph.profiling.kernel_seconds import PredictedTime


def test_a_gain_is_that_of_the_kernels_a_decision_is_about():
    ratios, shares = np.array([1.0, 4 / 3, 2.0, 0.5]), np.array([0.5, 0.5, 0.5, 1.0])
    gains = _local(ratios, shares)
    # The second one leaves half of a half; the third would leave nothing.
    assert gains == pytest.approx([0.0, np.log(2), 3.5, np.log(0.5)], abs=0.01)


def test_recorded_ratios_belong_to_actions():
    lowered = jax.jit(lambda x: jnp.sort(x)[:, :4]).lower(jnp.ones((64, 512)))
    states = PlanStates(Program.of(lowered))
    rule, *_, knob = states.state(Point()).actions
    ratios = {states.after(Point(), rule): 2.0, states.after(Point(), knob): 0.5, Point(): 1.0}
    recorded = recorded_actions(states, ratios, Point())
    assert recorded[rule] == 2.0
    assert recorded[knob] == 0.5


def test_what_is_decided_after_rules_is_compared_with_the_program_with_them():
    lowered = jax.jit(lambda x: jnp.sort(x)[:, :4]).lower(jnp.ones((64, 512)))
    states = PlanStates(Program.of(lowered))
    point = after_predicted_rules(states)
    assert point is not None
    knob = states.state(point).actions[-1]
    assert knob.knob
    ratios = {Point(): 1.0, point: 4.0, states.after(point, knob): 5.0}
    assert recorded_actions(states, ratios, point) == {knob: 1.25}


def test_points_with_one_decision_more_are_told_apart():
    first = Point.of({STEPS: '["call-inliner", "a(x)"]'})
    second = Point.of({STEPS: '["call-inliner", "a(x)", "b(y)"]'})
    flag = Point.of({"flags f": "1"})
    both = first.but("flags f", "1")
    for before, after in (
        (Point(), first),
        (first, second),
        (Point(), flag),
        (first, both),
        (both, second.but("flags f", "1")),
    ):
        assert _has_one_more(after, before)
        assert not _has_one_more(before, after)
    other = Point.of({STEPS: '["call-inliner", "b(y)"]'})
    assert not _has_one_more(other, first)
    assert not _has_one_more(first, first)
    assert not _has_one_more(flag, flag.but("flags f", "2"))
    assert not _has_one_more(second.but("flags f", "1"), first)
    # Rules come first, unless there is a rule before.
    assert not _has_one_more(both, flag)


def test_a_choice_is_the_decision_that_is_predicted_best_or_none():
    measured = np.log([1.5, 0.8, 1.0])
    right = _Choice.of(np.log([1.2, 0.9, 1.0]), measured)
    assert right.chosen == right.best == np.log(1.5)
    assert right.clear == (5.0, 5)
    nothing = _Choice.of(np.zeros(3), measured)
    assert nothing.chosen == 0.0
    assert nothing.clear == (2.5, 5)
    wrong = _Choice.of(-measured, measured)
    assert wrong.clear == (0.0, 5)
    assert wrong.chosen == np.log(0.8)
    row = _row("default", "trees", [[right], [wrong]])
    assert row[:4] == ("default", "trees", "2", "50%")
    assert row[4].startswith(f"{np.sqrt(1.5 * 0.8):.2f} (")
    assert row[-1] == "1"
    # Programs count alike, however many states of each there are.
    assert _row("default", "trees", [[right, right, right], [wrong]])[4] == row[4]
    level = _Choice.of(np.zeros(1), np.zeros(1))
    assert _row("default", "trees", [[level]])[3:7] == ("", "1.00 (1.00 to 1.00)", "1.00", "")


def test_errors_of_seconds_are_those_of_defaults_and_of_kernels_that_count():
    def predict(kernels, flags):
        assert all(kernel.text.startswith("HloModule") for kernel in kernels)
        return PredictedTime(2e-3, (1e-3,) * len(kernels))

    kernels = (RunKernel(0, 1.0, 5e-4), RunKernel(0, 1.0, 1e-6), RunKernel(0, 1.0, None))
    plan = PlanTime("p", {}, {}, (1.0,), 1e-3, 1e-3, 0.1, 0, 1.0, 0.0, kernels)
    other = replace(plan, decisions={"flags f": "1"}, seconds=1.0)
    times = PlanTimes(["HloModule k"], [plan, other])
    row = seconds_table(times, {"twice": predict}).splitlines()[-1]
    assert row == "| twice | 1 | 1 | 2.00 | 2.00 | 2.00 | 2.00 |"


def test_the_data_set_has_few_decisions_in_a_plan_and_no_family_twice():
    learned, held_out = (
        plan_times.load(split, name=plan_times.DECISIONS) for split in ("train", "validation")
    )
    assert learned.plans
    assert held_out.plans
    for times in (learned, held_out):
        points = [
            {Point.of(plan.decisions) for plan in plans} | {Point()}
            for plans in times.by_program().values()
        ]
        added = [
            any(_has_one_more(point, before) for before in of_program)
            for of_program in points
            for point in of_program - {Point()}
        ]
        assert np.mean(added) > 0.9
    families = [
        {name.split("/")[0] for name in times.by_program()} for times in (learned, held_out)
    ]
    assert not families[0] & families[1]
    words = words_of_decided(learned.plans)
    assert {"steps kernel-convolution", "steps predicted"} <= words
