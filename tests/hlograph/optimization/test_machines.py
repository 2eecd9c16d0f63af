"""A plan of another jaxlib, CPU or number of cores is measured again before it is used."""

from dataclasses import replace

import numpy as np
import pytest

import hlograph
from hlograph.optimization import Store, optimizing
from hlograph.optimization import cache as module
from hlograph.optimization.cache import CacheKey, plans_of_earlier_version
from hlograph.optimization.measurements import Measurements
from hlograph.optimization.optimizing import stored_plan
from hlograph.plans import Measured, Plan, PlanRefusedError
from hlograph.storage.machine import machine
from tests.hlograph.optimization.small_job import X, small_function, small_job

FLAGS = {"xla_cpu_prefer_vector_width": 128}
CHANGES = [
    {"jaxlib": "0.0.1"},
    {"cpu": "another"},
    {"revision": "1.2.3"},
    {"features": "00000000"},
    {"cores": 1000},
    {"xla_flags": "--xla_cpu_enable_fast_math=true"},
]


def _plan_measured_on(where):
    """Returns a plan that was twice as fast on a machine."""
    program = small_job().program
    measured = Measured(2.0, 1.0, 2.0, 1.9, 2.1, 1.0, 60)
    plan = Plan(program.name, program.fingerprint, flags=FLAGS)
    return replace(plan.measured_at(measured), machine=where)


@pytest.fixture
def elsewhere(request, monkeypatch):
    """The measurements that a store has of a search on another machine."""
    other = replace(machine(), **request.param)
    plan = _plan_measured_on(other)
    with monkeypatch.context() as patch:
        patch.setattr(module, "machine", lambda: other)
        Store().put(CacheKey.of(small_job()), plan)
    Store().put_recipe(small_job(), plan)
    return plan


@pytest.mark.parametrize("elsewhere", CHANGES, indirect=True)
def test_a_stored_plan_of_another_machine(elsewhere, monkeypatch):
    monkeypatch.setattr(optimizing, "refusal_here", lambda job, plan: "")  # see test_first_use.py
    job = small_job()
    assert stored_plan(job, Store()).plan is None
    # Nor is one of a folder that was copied, or whose key is a lie.
    Store().put(CacheKey.of(job), elsewhere)
    assert stored_plan(job, Store()).plan is None
    Store().put(CacheKey.of(job), replace(elsewhere, machine=machine()))
    assert stored_plan(job, Store()).plan is not None


@pytest.mark.parametrize("elsewhere", CHANGES[:1], indirect=True)
def test_its_recipe_is_a_plan_to_measure(elsewhere):
    (plan,) = plans_of_earlier_version(Store(), small_job())
    assert plan.flags == FLAGS
    assert (plan.machine, plan.measured) == (None, None)


@pytest.mark.parametrize("elsewhere", CHANGES[:1], indirect=True)
def test_a_search_measures_it(elsewhere):
    report = hlograph.optimize(small_function, X, budget=1, methods=[]).report
    assert not report.from_store
    assert FLAGS in [outcome.plan.flags for outcome in report.outcomes]
    if report.final is not None:  # it is as fast here
        assert report.plan.machine == machine()
        assert report.plan.measured == report.final.measured != elsewhere.measured


@pytest.mark.parametrize("change", CHANGES)
def test_a_given_plan_of_another_machine_is_refused(change):
    (name,) = change
    plan = _plan_measured_on(replace(machine(), **change))
    with pytest.raises(PlanRefusedError, match=f"{name} .* there, .* here"):
        hlograph.optimize(small_function, X, plan=plan)


def test_a_given_plan_of_another_machine_is_measured_on_request():
    plan = _plan_measured_on(replace(machine(), jaxlib="0.0.1"))
    fast = hlograph.optimize(small_function, X, plan=plan, measure_again=True)
    (outcome,) = fast.report.outcomes
    assert outcome.thorough
    assert outcome.plan.digest == plan.digest
    (kept,) = Measurements(CacheKey.of(small_job())).read()
    assert kept.measured == outcome.measured
    assert fast.plan.is_empty or fast.plan.machine == machine()
    assert fast.plan.measured != plan.measured
    np.testing.assert_allclose(fast(X), small_function(X), rtol=1e-5)
