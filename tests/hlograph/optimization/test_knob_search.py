"""Searches over knobs as methods: points become plans, and outcomes results."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.measuring.trial import PlanMeasurement
from hlograph.measuring.worker import UNCHANGED
from hlograph.optimization.methods.knob_search import KnobSearch, PointSpeed
from hlograph.optimization.program_space import ProgramSpace
from hlograph.plans import Measured, Plan, Program
from hlograph.plans.knobs import Point
from tests.hlograph.optimization.outcomes import asked

WIDTH, SIZE = "flags xla_cpu_prefer_vector_width", "flags xla_cpu_optimize_for_size"
LOOPS = "flags xla_cpu_small_while_loop_byte_threshold"
WIDE, SMALL = Point.of({WIDTH: "512"}), Point.of({SIZE: "true"})
ABSENT = Point.of({WIDTH: "512", "kernel 0123456789ab": "one-kernel"})
X = np.ones((64, 64), np.float32)


class Listed(KnobSearch):
    """Proposes given points, and keeps what it is told."""

    name = "joint"

    def __init__(self, program, *points):
        super().__init__(ProgramSpace(program))
        self.points, self.told = list(points), []

    def propose(self):
        return self.points.pop(0) if self.points else None

    def note(self, point, result):
        self.told.append((point, result))


@pytest.fixture(scope="module")
def program():
    return Program.of(jax.jit(lambda x: jnp.tanh(x @ x)).lower(X))


def outcome(plan, ratio=0.0, **more):
    measured = Measured(1.0, 1 / ratio, ratio, 0.9 * ratio, 1.1 * ratio, 1.0, 3) if ratio else None
    return PlanMeasurement(plan, measured=measured, **more)


def test_points_are_plans_and_outcomes_results(program):
    method = Listed(program, Point(), WIDE, SMALL)
    first = asked(method)
    # The point of no decision is jaxlib's default, which needs no measurement.
    assert method.told == [(Point(), PointSpeed(1.0, 1.0, 1.0))]
    assert first is not None
    assert first.flags == {"xla_cpu_prefer_vector_width": 512}
    assert first.method == "joint: 1 flags"
    second = asked(method)
    assert second is not None
    assert second.flags == {"xla_cpu_optimize_for_size": True}
    method.tell([outcome(second, 1.5)])
    method.tell([outcome(first, error="outputs are different")])
    assert method.told[1:] == [
        (SMALL, PointSpeed(1.5, 1.35, pytest.approx(1.65))),
        (WIDE, PointSpeed(0.0)),
    ]
    assert asked(method) is None


def test_points_of_the_same_plan_are_measured_once(program):
    method = Listed(program, WIDE, ABSENT)
    plan = asked(method)
    assert plan is not None
    assert asked(method) is None
    method.tell([outcome(plan, error=UNCHANGED)])
    assert method.told == [(WIDE, PointSpeed(1.0, 1.0, 1.0)), (ABSENT, PointSpeed(1.0, 1.0, 1.0))]


def test_plans_of_other_methods_are_points_too(program):
    method = Listed(program)
    method.tell([outcome(Plan(steps=("dce",), flags={"xla_cpu_optimize_for_size": True}), 2.0)])
    ((point, result),) = method.told
    assert result.ratio == 2.0
    assert method._space.plan(point).steps == ("dce",)
    assert point.values[SIZE] == "true"
    method.tell([outcome(Plan(layouts={"dot.1": "{0,1}"}), 2.0)])
    assert len(method.told) == 1


def test_a_point_without_a_plan_is_a_bad_one(program):
    wrong = Point.of({"steps program": '["no-such-pass"]', "fusion 0": "unfuse"})
    method = Listed(program, wrong, WIDE)
    assert asked(method) is not None
    assert method.told[0][1].ratio == 0


def test_points_that_are_known_do_not_end_a_search(program):
    known = [Point.of({LOOPS: str(number)}) for number in range(1, 151)]
    method = Listed(program, *known, WIDE)
    for number in range(1, 151):
        method.tell([outcome(Plan(flags={LOOPS.removeprefix("flags "): number}))])
    plan = asked(method)
    assert plan is not None
    assert plan.flags == {"xla_cpu_prefer_vector_width": 512}


def test_a_plan_that_is_refused_in_the_final_is_a_bad_point(program):
    method = Listed(program, WIDE)
    plan = asked(method)
    assert plan is not None
    method.tell([outcome(plan, 5.0)])
    method.tell([outcome(plan, thorough=True, accident=True, error="lost")])
    method.tell([outcome(plan, thorough=True, error="outputs are different")])
    assert [result.ratio for _, result in method.told] == [5.0, 0.0]
