"""Tests of plans chosen by time within a limit of memory, and by memory within one of time."""

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph.errors import HloError, PlanRefusedError
from hlograph.measuring.trial import Job
from hlograph.optimization import objectives
from hlograph.optimization.cache import CacheKey, Store
from hlograph.optimization.leading import leads
from hlograph.optimization.objectives import by_objective, excess_of, within_memory
from hlograph.optimization.report import Report
from hlograph.plans import Plan, Program
from tests.hlograph.optimization.outcomes import made_outcome
from tests.hlograph.optimization.proposals import SCHEDULES
from tests.hlograph.optimization.small_job import HERE, small_job

_MB = 1_000_000
_KINDS = (7, 11, 13)


def _counts():
    """A function that counts pairs of values, and arguments: the case memory_of_counts, smaller.

    jaxlib's schedule keeps the places of all pairs at once, 0.4 MB for each of 9.
    """
    generator = np.random.default_rng(0)
    data = tuple(generator.integers(0, kind, 100_000).astype(np.uint8) for kind in _KINDS)

    def pairs(*data):
        return tuple(
            jnp.bincount(x.astype(jnp.int32) * second + y, length=first * second)
            for first, x in zip(_KINDS, data, strict=True)
            for second, y in zip(_KINDS, data, strict=True)
        )

    return pairs, data


def _needs(default, plan, **changes):
    """Returns an outcome of a plan that needs so many MB, and whose default does."""
    return made_outcome(Plan(), memory=(default * _MB, plan * _MB), **changes)


def test_a_plan_that_needs_much_more_memory_than_the_default_is_refused():
    job = small_job()
    refused = within_memory(_needs(100, 130, ratio=2.0), job)
    assert refused.measured is None
    assert refused.error == (
        "is 2.000 times as fast, but needs 130 MB, 1.30 times the default's 100 MB "
        "(max_memory_ratio 1.25)"
    )
    report = Report("program", Plan(), "as measured", "close", None, (refused, _needs(100, 100)))
    lines = str(report).splitlines()
    assert lines[1] == "  memory   100.0 MB by default, as XLA planned it"
    assert lines[2] == f"  plans refused for their memory: 1; one of them {refused.error}"
    for outcome in (_needs(100, 124), _needs(10, 20), _needs(0, 100), made_outcome(Plan())):
        assert within_memory(outcome, job) is outcome
    outcome = _needs(100, 130)
    assert within_memory(outcome, replace(job, max_memory_ratio=1.5)) is outcome
    assert within_memory(outcome, replace(job, max_memory_ratio=math.inf)) is outcome


def test_what_the_process_was_seen_to_hold_counts_too():
    resident = (90 * _MB, 300 * _MB)
    assert "3.00 times" in excess_of(_needs(100, 100, resident=resident).measured, 1.25)
    # A default that needs what it was not seen to hold is no reason.
    assert not excess_of(_needs(300, 300, resident=resident).measured, 1.25)


def test_by_memory_the_plan_of_less_memory_leads_unless_it_is_slow():
    job = replace(small_job(), objective="memory")
    level = _needs(200, 100, ratio=0.95, low=0.9)
    assert leads(by_objective(level, job))
    assert by_objective(level, job).ratio == 2
    assert not leads(by_objective(level, small_job()))
    slow = by_objective(_needs(200, 100, ratio=0.9, low=0.8), job)
    assert (slow.measured, slow.error) == (None, "takes 1.11 times the default's time")
    assert not leads(by_objective(_needs(200, 200, ratio=3.0), job))
    assert not leads(by_objective(made_outcome(Plan()), job))


def test_plans_of_another_objective_are_stored_apart():
    job = small_job()
    other = replace(job, objective="memory")
    assert CacheKey.of(job) != CacheKey.of(other)
    assert CacheKey.of(other) in CacheKey.all_of(other)
    assert CacheKey.of(replace(job, max_memory_ratio=2.0)) == CacheKey.of(job)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"objective": "space"}, "objective 'time' or 'memory', got 'space'"),
        ({"max_memory_ratio": 0.5}, "at least 1, .* got 0.5"),
        ({"max_memory_ratio": math.nan}, "at least 1"),
    ],
)
def test_settings_that_are_none(changes, match):
    with pytest.raises(HloError, match=match):
        replace(small_job(), **changes)


def test_a_search_for_less_memory_finds_the_schedule_for_it(cache, monkeypatch):
    # Of arrays as small as these, a busy machine may say that the schedule is slow.
    monkeypatch.setattr(objectives, "SLOWEST", 100.0)
    function, data = _counts()
    settings = {"budget": 3, "methods": f"{HERE}:schedules", "objective": "memory"}
    fast = hlograph.optimize(function, *data, process=False, **settings)
    assert fast.plan.digest == SCHEDULES[0].digest
    measured = fast.plan.measured
    assert measured is not None
    assert measured.memory < 0.3 * measured.default_memory
    lines = str(fast.report).splitlines()
    assert "MB of memory in place of" in lines[0]
    assert any(line.startswith("  memory") and "by default" in line for line in lines)
    assert jnp.array_equal(fast(*data)[3], jax.jit(function)(*data)[3])

    again = hlograph.optimize(function, *data, process=False, **settings)
    assert again.report.from_store
    assert again.plan == fast.plan


def test_a_stored_or_given_plan_of_too_much_memory_is_not_used(cache):
    def function(x):
        return jnp.tanh(x @ x)

    x = jnp.ones((8, 8))
    program = Program.of(jax.jit(function).lower(x))
    measured = _needs(100, 200, ratio=2.0).measured
    assert measured is not None
    plan = Plan(
        program.name,
        program.fingerprint,
        flags={"xla_cpu_prefer_vector_width": 128},
        text_fingerprint=program.text_fingerprint,
    ).measured_at(measured)
    job = Job(program)
    store = Store()
    store.put(CacheKey.of(job), plan)
    silent = f"{HERE}:silent"
    kept = hlograph.optimize(function, x, methods=silent, budget=1, max_memory_ratio=2)
    assert kept.plan.digest == plan.digest
    assert hlograph.optimize(function, x, plan=plan, max_memory_ratio=math.inf).plan == kept.plan
    with pytest.raises(PlanRefusedError, match=r"needs 200 MB.*max_memory_ratio 1.25\): allow"):
        hlograph.optimize(function, x, plan=plan)
    assert hlograph.optimize(function, x, methods=silent, budget=1).plan.is_empty
