"""The method that proposes pipelines and groups of patterns of Enzyme-JAX."""

import importlib.util
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph.decisions.searches import names
from hlograph.measuring.trial import PlanMeasurement
from hlograph.measuring.worker import UNCHANGED
from hlograph.optimization.methods.enzyme import (
    GROUPS,
    EnzymePatterns,
    groups_of,
    patterns_of,
)
from hlograph.plans import Measured, PlanError, Program
from hlograph.plans.enzyme import pattern_names

is_installed = importlib.util.find_spec("enzyme_ad") is not None
needs_enzyme = pytest.mark.skipif(not is_installed, reason="enzyme-ad is not installed")


@pytest.fixture
def program():
    """Returns a small program."""
    return Program.of(jax.jit(lambda x: jnp.sin(x).T).lower(jnp.ones((4, 4))))


def measured(plan, ratio):
    """Returns an outcome of a plan that is so many times as fast as the default."""
    return replace(PlanMeasurement(plan), measured=Measured(1.0, 1.0, ratio, ratio, ratio, 1.0, 5))


def test_it_is_tried_only_if_it_is_named():
    assert "enzyme" not in names()


@pytest.mark.skipif(is_installed, reason="enzyme-ad is installed")
def test_a_missing_library_is_told_at_once(program):
    with pytest.raises(PlanError, match="pip install enzyme-ad"):
        EnzymePatterns(program, "close")


@needs_enzyme
def test_groups_follow_the_best_pipeline(program):
    method = EnzymePatterns(program, "close")
    plans = method.ask(10)
    assert [plan.steps[0] for plan in plans[:2]] == ["enzyme(full)", "enzyme(one-round)"]
    assert [plan.steps[0] for plan in plans[4:]] == ["enzyme(one-round without *)"]
    method.tell([measured(plan, ratio) for plan, ratio in zip(plans, (1, 2, 1, 1, 1), strict=True)])
    without = method.ask(100)
    assert len(without) == len(GROUPS) + 1
    assert all(plan.steps[0].startswith("enzyme(one-round without ") for plan in without)
    method.tell([measured(plan, 3 if n < 2 else 2) for n, plan in enumerate(without)])
    (both,) = method.ask(100)
    assert both.steps == ("enzyme(one-round without transpose* *_transpose reshape* *_reshape)",)
    method.tell([measured(both, 1)])
    alone = method.ask(100)
    assert len(alone) == len(GROUPS) + 1
    method.tell([measured(plan, 2 if n == 0 else 1) for n, plan in enumerate(alone)])
    steps = {plan.steps[0] for plan in method.ask(1000)}
    assert "enzyme(one-round without reshape_pad)" in steps
    assert "enzyme(one-round only transpose_pad)" in steps
    assert not any("broadcast_iota" in step or "only reshape_pad" in step for step in steps)


@needs_enzyme
def test_every_pattern_is_in_a_group():
    grouped = [name for globs in groups_of("full") for name in patterns_of(globs, "full")]
    assert set(grouped) == set(pattern_names("full"))


@needs_enzyme
def test_a_pipeline_that_changes_nothing_is_as_fast_as_the_default(program):
    method = EnzymePatterns(program, "close")
    full, *others = method.ask(10)
    method.tell([PlanMeasurement(full, error=UNCHANGED), *(measured(plan, 0.9) for plan in others)])
    assert method.ask(1)[0].steps[0].startswith("enzyme(full without ")


@needs_enzyme
@pytest.mark.slow
def test_a_race_with_the_method(tmp_path):
    x = jnp.arange(512.0 * 512).reshape(512, 512)
    function = jax.jit(lambda x: (x.T @ x.T).T)
    found = hlograph.optimize(function, x, budget=5, methods=["enzyme"], store=tmp_path)
    tried = [step for outcome in found.report.outcomes for step in outcome.plan.steps]
    assert "enzyme(full)" in tried
    np.testing.assert_allclose(found(x), function(x), rtol=1e-5)
