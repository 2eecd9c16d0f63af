"""A stored or given plan is tried in a worker before its first use on a host, and once."""

import platform
from dataclasses import replace

import jax
import numpy as np
import pytest

import hlograph
from hlograph.execution.host import host
from hlograph.measuring.trial import PlanMeasurement
from hlograph.optimization import Store, first_use
from hlograph.optimization.cache import CacheKey
from hlograph.optimization.measurements import Measurements
from hlograph.plans import Measured, Plan
from hlograph.storage.machine import machine
from tests.hlograph.optimization.small_job import HERE, X, small_function, small_job

# Measured elsewhere, on a machine of this identity. No plan of the tests is half as fast.
MEASURED = Measured(2.0, 1.0, 2.0, 1.9, 2.1, 1.0, 60)
RIGHT = Plan(flags={"xla_cpu_prefer_vector_width": 128}, numerics="close", method="right")
DEAD = Plan(steps=("cse(%no_such.1)",), numerics="close", method="dead")


@pytest.fixture
def trials(monkeypatch):
    """Counts the trials."""
    plans = []
    measured = first_use._measured

    def counted(job, plan):
        plans.append(plan.digest)
        return measured(job, plan)

    monkeypatch.setattr(first_use, "_measured", counted)
    monkeypatch.setattr(first_use, "_is_slower", lambda measured: False)  # a busy machine
    return plans


def _stored(plan, job):
    """Returns a plan as a search on this machine has measured it, after putting it into a store."""
    program = job.program
    plan = replace(plan, program=program.name, fingerprint=program.fingerprint)
    plan = replace(plan, text_fingerprint=program.text_fingerprint).measured_at(MEASURED)
    Store().put(CacheKey.of(job), plan)
    return plan


def test_a_plan_of_the_store_is_tried_once_on_each_host(cache, trials, monkeypatch):
    plan = _stored(RIGHT, small_job())
    for _ in range(2):
        fast = hlograph.optimize(small_function, X)
        assert fast.report.from_store
        assert fast.plan.digest == plan.digest
    assert trials == [plan.digest]
    monkeypatch.setattr(platform, "release", lambda: "6.99-another")
    for _ in range(2):
        assert hlograph.optimize(small_function, X).plan.digest == plan.digest
    assert trials == [plan.digest] * 2


def test_a_search_has_tried_its_plan(cache, trials):
    job = small_job()
    plan = _stored(RIGHT, job)
    Measurements(CacheKey.of(job), given=job.given).add(
        PlanMeasurement(plan, thorough=True, measured=MEASURED)
    )
    assert first_use.refusal_here(job, plan) == ""
    assert trials == []


def test_a_plan_that_fails_here_is_not_used(cache, trials):
    dead = _stored(DEAD, small_job())
    fast = hlograph.optimize(small_function, X, budget=1, methods=[f"{HERE}:widths"])
    assert not fast.report.from_store
    assert fast.plan.digest != dead.digest
    assert "the stored plan is not used: " in fast.report.conclusion
    np.testing.assert_allclose(fast(X), small_function(X), rtol=1e-5)
    assert trials == [dead.digest]
    # What the search has found is in its place.
    assert hlograph.optimize(small_function, X).report.from_store


def test_a_given_plan_is_tried_unless_it_was_written_by_hand(cache, trials, tmp_path):
    job = small_job()
    plan = _stored(RIGHT, job)
    plan.save(tmp_path / "step.plan.json")
    for _ in range(2):
        fast = hlograph.optimize(small_function, X, plan=tmp_path / "step.plan.json")
        assert fast.plan.digest == plan.digest
    assert trials == [plan.digest]
    dead = hlograph.optimize(small_function, X, plan=_stored(DEAD, job))
    assert dead.plan.is_empty
    assert dead.report.conclusion.startswith("the given plan is not used: ")
    assert len(trials) == 2
    by_hand = Plan(flags={"xla_cpu_prefer_vector_width": 512}, numerics="close")
    assert hlograph.optimize(small_function, X, plan=by_hand).plan == by_hand
    assert len(trials) == 2


def test_decorated_functions_and_blocks_try_plans(cache, trials):
    job = small_job()
    plan = _stored(RIGHT, job)
    function = hlograph.jit(small_function, max_signatures=0)
    np.testing.assert_allclose(function(X), small_function(X), rtol=1e-5)
    assert [used.digest for used in function.plans] == [plan.digest] == trials
    dead = _stored(DEAD, job)
    jax.clear_caches()
    with hlograph.use_plans() as used:
        np.testing.assert_allclose(jax.jit(small_function)(X), small_function(X), rtol=1e-5)
    assert used.used == []
    assert "small_function: not used: " in str(used)
    assert trials[-1] == dead.digest


def test_a_plan_in_the_place_of_a_bad_default_runs_without_that(cache, trials, monkeypatch):
    plan = replace(_stored(RIGHT, small_job()), default_fault="jaxlib's default ends the process")
    jobs = []
    measured = first_use._measured
    monkeypatch.setattr(
        first_use, "_measured", lambda job, plan: jobs.append(job) or measured(job, plan)
    )
    for _ in range(2):
        assert first_use.refusal_here(small_job(), plan) == ""
    (job,) = jobs
    assert job.reference.digest == plan.digest
    another = replace(plan, flags={"xla_cpu_prefer_vector_width": 512})
    first_use.note_judged(small_job(), another)
    assert first_use.refusal_here(small_job(), another) == ""
    assert len(jobs) == 1


def test_a_plan_that_is_slower_here_is_not_used(cache, monkeypatch):
    job = small_job()
    slower = Measured(1.0, 2.0, 0.5, 0.4, 0.6, 1.0, 15)
    monkeypatch.setattr(
        first_use, "_measured", lambda job, plan: PlanMeasurement(plan, measured=slower)
    )
    assert "slower on this machine: " in first_use.refusal_here(job, _stored(RIGHT, job))


def test_a_host_is_known_by_its_kernel_and_its_share_of_cpus(monkeypatch):
    here = host()
    assert host() == here
    assert here.cpus <= machine().cores
    monkeypatch.setattr("hlograph.execution.host.cpu_quota", lambda: 0.5)
    assert host().cpus == 0.5
    assert host().key != here.key
    monkeypatch.undo()
    monkeypatch.setattr(platform, "release", lambda: "6.99-another")
    assert host().key != here.key
    assert replace(here, microcode="0x1").key != replace(here, microcode="0x2").key
