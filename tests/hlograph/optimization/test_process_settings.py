"""Tests of settings of the process: what is done, what is told, and what is left alone."""

import subprocess
import sys
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph.execution.process_memory import KeptMemory
from hlograph.measuring.kept_memory import KeptMemoryComparison
from hlograph.measuring.trial import Job
from hlograph.optimization import function, process_settings
from hlograph.optimization import report as report_module
from hlograph.optimization.cache import CacheKey, Store
from hlograph.optimization.process_settings import advice, with_kept_memory
from hlograph.optimization.report import Report
from hlograph.plans import Plan, PlanError, Program
from tests.hlograph.optimization.outcomes import made_outcome
from tests.hlograph.optimization.small_job import HERE

_KEPT = KeptMemory(10e-3, 5e-3, 2.0, 1.9, 2.1, 20, 5000, 0, 64_000_000)
_X = np.ones(500_000, np.float32)
_PLAN = Plan(flags={"xla_cpu_prefer_vector_width": 128})


def _double(x):
    return x * 2, x + 1


def _job(donate=()):
    return Job(Program.of(jax.jit(_double, donate_argnums=donate).lower(_X)), [_X])


def _report():
    # The default would be faster without its thousand page faults of 4 µs.
    memory = (6_000_000, 6_000_000)
    outcome = made_outcome(_PLAN, ratio=1.3, low=1.2, seconds=10e-3, memory=memory)
    assert outcome.measured is not None
    winner = _PLAN.measured_at(outcome.measured)
    return Report("double", winner, "as measured", "close", outcome, (outcome,))


@pytest.fixture(autouse=True)
def _without_quota(monkeypatch):
    """Runs tests as on a machine where the process's control group has no limit."""
    monkeypatch.setattr(process_settings, "cpu_quota", lambda: None)


@pytest.fixture
def told(monkeypatch):
    """Returns a function that sets what comparisons bring, and the plans that were compared."""
    plans = []

    def tell(*comparisons, is_alone=False):
        waiting = iter(comparisons)

        def answer(job, plan, effort, *, alone):
            assert alone is is_alone
            plans.append(plan)
            comparison = next(waiting)
            if isinstance(comparison, BaseException):
                raise comparison
            return comparison

        monkeypatch.setattr(process_settings, "compared", answer)
        return plans

    return tell


def test_what_it_brings_that_memory_is_kept_is_in_the_plan_and_the_report(told):
    told(KeptMemoryComparison(_KEPT, 1.4, True))
    report = with_kept_memory(_job(), _report(), 60.0, keeps=True)
    assert report.plan.kept_memory == _KEPT
    assert report.plan.digest == _PLAN.digest
    assert report.ratio == 1.3  # the plan's gain is apart
    assert report.conclusion.endswith("; 2.000 times as fast where the process keeps freed memory")
    text = str(report)
    assert "  process  10.000 ms → 5.000 ms: 2.000 times as fast" in text
    assert "the process holds 64 MB more" in text
    assert Plan.from_json(report.plan.to_json()) == report.plan


@pytest.mark.parametrize(
    "comparison",
    [
        None,
        KeptMemoryComparison(replace(_KEPT, low=0.99), 1.4, True),
        KeptMemoryComparison(replace(_KEPT, ratio=1.02, low=1.01), 1.4, True),
        PlanError("it does not compile"),
    ],
)
def test_without_a_clear_gain_all_stays_as_it_is(comparison, told):
    told(comparison)
    report = _report()
    assert with_kept_memory(_job(), report, 60.0, keeps=True) == report


def test_a_plan_that_loses_where_memory_is_kept_gives_way_to_the_default(told):
    plans = told(KeptMemoryComparison(_KEPT, 0.9, True), KeptMemoryComparison(_KEPT, 1.0, True))
    report = with_kept_memory(_job(), _report(), 60.0, keeps=True)
    assert report.plan.is_empty
    assert report.plan.kept_memory == _KEPT
    assert report.conclusion.startswith("jaxlib's default is faster than the plan")
    assert [plan.is_empty for plan in plans] == [False, True]


def test_a_plan_that_gains_nothing_by_it_may_lose_to_the_default(told):
    none = replace(_KEPT, ratio=1.0, low=0.99)
    plans = told(KeptMemoryComparison(none, 0.97, True), KeptMemoryComparison(_KEPT, 1.0, True))
    report = with_kept_memory(_job(), _report(), 60.0, keeps=True)
    assert report.plan.is_empty
    assert report.plan.kept_memory == _KEPT
    assert [plan.is_empty for plan in plans] == [False, True]


def test_a_plan_is_refused_where_memory_is_not_to_be_kept_either(told):
    plans = told(KeptMemoryComparison(_KEPT, 0.97, True))
    report = with_kept_memory(_job(), _report(), 60.0, keeps=False)
    assert report.plan.is_empty
    assert report.plan.kept_memory is None
    assert len(plans) == 1


def test_page_faults_of_the_default_alone_are_compared(told):
    memory = (6_000_000, 2_000_000)  # those of the arguments are all that the plan has
    outcome = made_outcome(_PLAN, ratio=1.3, low=1.2, seconds=10e-3, memory=memory)
    assert outcome.measured is not None
    winner = _PLAN.measured_at(outcome.measured)
    plans = told(None)
    with_kept_memory(_job(), Report("", winner, "", "close", outcome, (outcome,)), 60.0, keeps=True)
    assert plans == [winner]


@pytest.mark.parametrize(
    ("memory", "keeps", "compared"), [(6, True, 1), (6, False, 0), (2, True, 0)]
)
def test_a_plan_far_ahead_is_compared_with_itself(told, memory, keeps, compared):
    each = (6_000_000, 1_000_000 * memory)
    outcome = made_outcome(_PLAN, ratio=1.5, low=1.4, seconds=10e-3, memory=each)
    assert outcome.measured is not None
    report = Report("", _PLAN.measured_at(outcome.measured), "", "close", outcome, (outcome,))
    plans = told(*[KeptMemoryComparison(_KEPT, 1.0, False)] * compared, is_alone=True)
    kept = with_kept_memory(_job(), report, 60.0, keeps=keeps).plan.kept_memory
    assert plans == [report.plan] * compared
    assert (kept == _KEPT) is bool(compared)


def test_the_plan_stays_alone_if_it_is_faster_without(told):
    told(KeptMemoryComparison(_KEPT, 0.9, False))
    report = _report()
    assert with_kept_memory(_job(), report, 60.0, keeps=True) == report


def test_programs_that_allocate_little_are_not_measured(told):
    plans = told()
    small = Job(Program.of(jax.jit(_double).lower(_X[:8])), [_X[:8]])
    outcome = made_outcome(_PLAN, seconds=1e-3, memory=(96, 96))
    report = Report("double", Plan(), "", "close", None, (outcome,))
    assert with_kept_memory(small, report, 60.0, keeps=True) is report
    # Nor are those of which nothing is known.
    assert (
        with_kept_memory(_job(), Report("double", Plan(), "", "close"), 60.0, keeps=True).plan
        == Plan()
    )
    assert not plans


def test_searches_that_were_interrupted_end_at_once(told):
    plans = told()
    report = replace(_report(), interrupted=True)
    assert with_kept_memory(_job(), report, 60.0, keeps=True) is report
    assert not plans


def test_ctrl_c_keeps_the_plan_and_says_that_the_user_ended_the_search(told):
    told(KeyboardInterrupt())
    report = _report()
    ended = with_kept_memory(_job(), report, 60.0, keeps=True)
    assert ended == replace(report, interrupted=True)


def test_page_faults_of_large_blocks_are_told(told):
    many = replace(_KEPT, faults_before=30_000, faults=20_000, ratio=1.0, low=0.9)
    told(KeptMemoryComparison(many, 1.0, False))
    report = with_kept_memory(_job(), _report(), 60.0, keeps=True)
    assert report.plan.kept_memory is None
    (sentence,) = report.advice
    assert "MALLOC_ARENA_MAX=1" in sentence
    assert f"  advice   {sentence}." in str(report).splitlines()


def test_the_process_keeps_memory_when_a_function_is_returned_unless_it_is_refused(
    cache, monkeypatch
):
    calls = []
    monkeypatch.setattr(function, "keep_freed_memory", lambda: calls.append("kept"))
    monkeypatch.setattr(report_module, "keeps_freed_memory", lambda: bool(calls))
    job = _job()
    plan = Plan(
        job.program.name,
        job.program.fingerprint,
        text_fingerprint=job.program.text_fingerprint,
        kept_memory=_KEPT,
    )
    Store().put(CacheKey.of(job), plan)
    settings = {"methods": f"{HERE}:silent", "budget": 1}
    fast = hlograph.optimize(_double, _X, process=False, **settings)
    assert (fast.report.from_store, calls) == (True, [])
    assert "does not keep freed memory" in str(fast.report)
    fast = hlograph.optimize(_double, _X, **settings)
    assert (fast.plan, calls) == (plan, ["kept"])
    assert fast.report.conclusion.endswith("; " + _KEPT.summary)
    hlograph.optimize(_double, _X, plan=plan)
    assert len(calls) == 2
    hlograph.optimize(_double, _X, background=True, **settings).wait()
    assert len(calls) == 3
    hlograph.jit(_double, process=False)(_X)
    assert len(calls) == 3
    hlograph.jit(_double)(_X)
    assert len(calls) == 4


def test_a_search_measures_it_and_the_process_keeps_memory_then(cache, monkeypatch):
    code = f"""
import numpy as np, hlograph
from hlograph.execution.process_memory import keeps_freed_memory

def three(x):
    return x + 1, x * 2, x - 3

fast = hlograph.optimize(
    three, np.ones(3_000_000, np.float32), budget=3, methods="{HERE}:widths", progress=False
)
kept = fast.plan.kept_memory
assert (kept is not None) == keeps_freed_memory()
print(fast.report)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert not done.returncode, done.stderr


def test_arguments_that_could_be_donated_are_told():
    (sentence,) = advice(_job())
    assert sentence.startswith("arrays of the arguments have the types of results (0, 2 MB)")
    assert advice(_job(donate=0)) == ()
    small = Job(Program.of(jax.jit(_double).lower(jnp.ones(8))))
    assert advice(small) == ()


def test_a_quota_of_less_cpus_than_threads_is_told(monkeypatch):
    monkeypatch.setattr(process_settings, "cpu_quota", lambda: 1.5)
    monkeypatch.setattr(process_settings, "usable_cores", lambda: 8)
    (sentence,) = advice(_job(donate=0))
    assert "has 1.5 CPUs, and jaxlib starts 8 threads" in sentence
    assert sentence.endswith("taskset -c 0-0")
