"""Decisions that apply to a kernel."""

from random import Random

import pytest

from experiments.kernel_bank.drawing import draw
from experiments.kernel_bank.variants import decisions_of
from hlograph.plans import Program
from hlograph.plans.knobs import Point, stage_of
from hlograph.plans.versions import Versions
from tests.experiments.cost_model.data import kernel


@pytest.fixture(scope="module")
def versions():
    return Versions(Program.of(draw(kernel("tanh", 4096), 0, 0).module), "close")


def test_stages_take_turns_after_the_default(versions):
    default, *others = decisions_of(versions, 6, Random(0))
    assert default == Point()
    stages = [stage_of(name) for point in others for name in point.values]
    assert {"kernel", "flags"} <= set(stages)
    assert len(set(others)) == len(others) == 6


def test_each_decision_can_be_carried_out(versions):
    for point in decisions_of(versions, 3, Random(1)):
        plan = versions.plan(point)
        assert bool(point.items) == bool(
            plan.steps or plan.flags or plan.placements or plan.layouts
        )


def test_some_kernels_have_a_pair_of_decisions(versions):
    drawn = [decisions_of(versions, 4, Random(seed)) for seed in range(30)]
    pairs = [points for points in drawn if len(points[-1].items) == 2]
    assert 3 < len(pairs) < 20
    for _, first, second, *_, both in pairs:
        assert both.values == {**first.values, **second.values}
    assert all(len(point.items) == 1 for points in drawn for point in points[1:-1])
