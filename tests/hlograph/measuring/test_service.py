import os
import signal
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.errors import (
    NotExecutableError,
    WorkerCrashedError,
    WorkerKilledError,
    WorkerTimedOutError,
)
from hlograph.measuring.service import Measurer
from hlograph.measuring.trial import Effort, Job, MeasurementRequest
from hlograph.measuring.worker import DEFAULT, UNCHANGED
from hlograph.plans import Plan, Program
from hlograph.plans.known_faults import faults_of
from tests.hlograph.faulty_programs import DIES

X = np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)
LONG_ROWS = np.random.default_rng(0).standard_normal((4, 4096), np.float32)
SHORT = Effort(pairs=4, block_seconds=0.001, max_seconds=1, thorough=False)
LONG = Effort(pairs=10**9, block_seconds=0.001, max_seconds=60, thorough=False)
STEADY = Effort(pairs=15, block_seconds=0.01, max_seconds=20, thorough=False)
THOROUGH = Effort(pairs=4, block_seconds=0.001, max_seconds=1, thorough=True)
NARROW = Plan(flags={"xla_cpu_prefer_vector_width": 128})
WIDE = Plan(flags={"xla_cpu_prefer_vector_width": 256})
SMALL = Plan(flags={"xla_cpu_optimize_for_size": True})


def _job(function=lambda x: jnp.tanh(x @ x), donate=()):
    lowered = jax.jit(function, donate_argnums=donate).lower(X)
    return Job(Program.of(lowered), [X])


@pytest.fixture(scope="module")
def measurer():
    """A measurer of `_job`, of tests that ask for plans of their own."""
    with Measurer(_job(), workers=1) as measurer:
        yield measurer


@pytest.fixture
def new(measurer):
    """The measurer, which has lost no worker and has measured nothing."""
    measurer.without, measurer._early_losses, measurer._answered = frozenset(), 0, False
    yield measurer
    measurer.without = frozenset()


def _kill_at_work(measurer, plan, kind):
    """Sends the worker a signal as soon as it is at work on a plan."""
    recorder = measurer._pool._slots[0]._recorder
    (pid,) = measurer.pids

    def wait_and_kill():
        while not (operation := recorder.operation) or operation.note != plan.digest.encode():
            time.sleep(0.001)
        os.kill(pid, kind)

    threading.Thread(target=wait_and_kill, daemon=True).start()


def test_what_a_trial_finds():
    unknown = Plan(steps=("no-such-pass",))
    trials = [
        MeasurementRequest(NARROW, THOROUGH),
        MeasurementRequest(SMALL, SHORT),
        MeasurementRequest(unknown, SHORT),
    ]
    with Measurer(_job(donate=(0,)), workers=1) as measurer:
        found = {outcome.plan.digest: outcome for outcome in measurer.measure(trials)}
    thorough, quick = found[NARROW.digest], found[SMALL.digest]
    assert thorough.thorough
    assert thorough.checks is not None
    assert len(thorough.checks.samples) == 11
    assert thorough.measured is not None
    assert thorough.measured.low <= thorough.measured.ratio <= thorough.measured.high
    assert quick.checks is not None
    assert quick.checks.samples == ("given",)
    assert quick.measured is not None
    assert quick.measured.control == 1
    failed = found[unknown.digest]
    assert failed.measured is None
    assert failed.ratio == 0
    assert "no-such-pass" in failed.error
    assert not failed.accident


def test_a_plan_of_the_same_code_as_the_default_is_not_timed(measurer):
    same = Plan(steps=("call-inliner",))
    quick, thorough = measurer.measure(
        [MeasurementRequest(same, SHORT), MeasurementRequest(same, THOROUGH)]
    )
    assert (quick.measured, quick.error) == (None, UNCHANGED)
    assert thorough.measured is not None
    assert not thorough.changes


def test_plans_of_equal_code_are_timed_once(measurer):
    both = Plan(steps=("call-inliner",), flags=NARROW.flags)
    first, second = measurer.measure(
        [MeasurementRequest(NARROW, SHORT), MeasurementRequest(both, SHORT)]
    )
    assert first.measured is not None
    assert second.measured == first.measured
    assert second.plan.digest == both.digest


def test_a_plan_far_behind_the_fastest_is_timed_briefly(measurer):
    (outcome,) = measurer.measure([MeasurementRequest(WIDE, SHORT, best=1000.0)])
    assert outcome.measured is not None
    assert outcome.measured.pairs == SHORT.least < SHORT.pairs


def test_a_plan_whose_worker_crashes_is_no_accident():
    with Measurer(_job(), workers=1) as measurer:

        def trials():
            yield MeasurementRequest(NARROW, SHORT)
            _kill_at_work(measurer, WIDE, signal.SIGSEGV)
            yield MeasurementRequest(WIDE, LONG)

        _, lost = measurer.measure(trials())
    assert lost.measured is None
    assert not lost.accident


def test_memory_has_arguments_results_and_temporaries():
    def function(x):
        return jnp.sort(jnp.sin(x)[:, None] * x, 0).sum(0)

    x = np.linspace(0, 1, 512, dtype=np.float32)
    job = Job(Program.of(jax.jit(function).lower(x)), [x])
    with Measurer(job, workers=1) as measurer:
        (outcome,) = measurer.measure([MeasurementRequest(SMALL, SHORT)])
    measured = outcome.measured
    assert measured is not None
    assert measured.memory >= 512 * 512 * 4 + 2 * x.nbytes
    assert measured.default_memory >= 512 * 512 * 4 + 2 * x.nbytes
    assert (measured.resident, measured.default_resident) == (0, 0)


def test_a_final_sees_how_far_the_process_grows():
    x = np.linspace(0, 1, 4096, dtype=np.float32)
    # The C library returns blocks of this size to the system at once.
    job, square = Job(Program.of(jax.jit(lambda x: jnp.sin(x)[:, None] * x).lower(x)), [x]), 1 << 26
    with Measurer(job, workers=1) as measurer:
        (outcome,) = measurer.measure([MeasurementRequest(SMALL, THOROUGH)])
    measured = outcome.measured
    assert measured is not None
    assert 0.9 * square < measured.resident < 2 * square
    assert 0.9 * square < measured.default_resident < 2 * square


def test_changes_of_the_final_module_and_where_the_default_spends_its_time():
    def function(x):
        return jnp.sort(jnp.tanh(x))[:, :2]

    job = Job(Program.of(jax.jit(function).lower(LONG_ROWS)), [LONG_ROWS])
    module = job.program.module()
    module.run("call-inliner")
    (found,) = module.rewrites(["sort-prefix-as-top-k"])
    plan = Plan(steps=("call-inliner", found.place))
    with Measurer(job, workers=1) as measurer:
        (outcome,) = measurer.measure([MeasurementRequest(plan, SHORT, profiled=True)])
    assert outcome.measured is not None, outcome.error
    assert outcome.changes["sort"] == (1, 0)
    assert outcome.hot is not None
    assert outcome.hot["sort"] == outcome.hot[f"sort {LONG_ROWS.size}"] > 0.5
    assert 0 < outcome.hot["tanh"] < outcome.hot["sort"]


def test_a_loop_takes_the_time_of_what_it_runs():
    def function(x):
        return jax.lax.fori_loop(0, 20, lambda _, c: jnp.sort(jnp.sin(c)), x)

    job = Job(Program.of(jax.jit(function).lower(LONG_ROWS)), [LONG_ROWS])
    with Measurer(job, workers=1) as measurer:
        (outcome,) = measurer.measure([MeasurementRequest(Plan(), SHORT, profiled=True)])
    assert outcome.hot is not None
    # How large the shares are depends on the load of the machine.
    assert outcome.hot["while"] >= outcome.hot["sort"] > outcome.hot["sine"] > 0


def test_a_plan_that_leads_must_compute_the_same_on_extreme_inputs():
    def distances(x):
        return jnp.sqrt(((x[:, None] - x[None]) ** 2).sum(-1))

    points = np.random.default_rng(0).standard_normal((768, 8)).astype(np.float32)
    job = Job(Program.of(jax.jit(distances).lower(points)), [points])
    module = job.program.module()
    module.run("call-inliner")
    (found,) = module.rewrites(["distances-by-dot"])  # for points that are not near each other
    plan = Plan(steps=("call-inliner", found.place), numerics="close")
    with Measurer(job, workers=1) as measurer:
        (outcome,) = measurer.measure([MeasurementRequest(plan, STEADY)])  # on a busy machine, too
    assert outcome.measured is None
    assert outcome.error.startswith("outputs are different: on near inputs")


def test_a_loop_that_never_ends_on_inputs_that_nobody_gave():
    def double(x):
        return jax.lax.while_loop(lambda c: (c == 0).any(), lambda c: c * 2, jnp.tanh(x @ x))

    x = X + 1
    job = Job(Program.of(jax.jit(double).lower(x)), [x])
    with Measurer(job, workers=1) as measurer:
        (outcome,) = measurer.measure([MeasurementRequest(NARROW, THOROUGH)])
        assert measurer.without == {"zeros"}
    assert outcome.measured is not None
    assert outcome.checks is not None
    assert "negative" in outcome.checks.samples
    assert "zeros" not in outcome.checks.samples


@pytest.mark.parametrize(
    ("lost", "left_out"),
    [
        (WorkerTimedOutError("too long", note=b"default on near", to_blame=True), {"near"}),
        (WorkerCrashedError("a failed CHECK", note=b"default on random 1"), {"random 1"}),
        (WorkerTimedOutError("the worker was stopped", note=b"default on near"), set()),
        (WorkerKilledError("killed by SIGKILL", note=b"default on near"), set()),
        (WorkerTimedOutError("too long", note=DEFAULT, to_blame=True), set()),
        (WorkerCrashedError("a failed CHECK"), set()),
    ],
)
def test_samples_that_the_default_does_not_survive_by_its_own_fault(lost, left_out, new):
    assert new._left_out(lost) == bool(left_out)
    assert new.without == left_out


def test_a_worker_that_dies_costs_its_candidate():
    with Measurer(_job(), workers=1) as measurer:

        def trials():
            yield MeasurementRequest(NARROW, SHORT)
            _kill_at_work(measurer, WIDE, signal.SIGKILL)
            yield MeasurementRequest(WIDE, LONG)
            yield MeasurementRequest(SMALL, SHORT)

        before, lost, after = measurer.measure(trials())
    assert before.measured is not None
    assert lost.plan.digest == WIDE.digest
    assert lost.measured is None
    assert "SIGKILL" in lost.error
    assert lost.accident
    assert after.measured is not None


def test_a_plan_that_ends_the_process_costs_no_other_one():
    function, arguments, _ = DIES["rank_7"]()
    program = Program.of(jax.jit(function).lower(*arguments))
    faults = [fault for fault in faults_of(program.flow) if fault.name == "jax#40412"]
    if not faults:
        pytest.skip("a later jaxlib has mended it")
    # The fault may come after the call has returned, while the worker times something else.
    job = Job(program, list(arguments), reference=faults[0].plan)
    right = NARROW.beside(faults[0].plan)
    with Measurer(job, workers=1) as measurer:
        requests = [MeasurementRequest(plan, SHORT) for plan in (NARROW, right)]
        dead, living = measurer.measure(requests)
    assert dead.plan.digest == NARROW.digest
    assert dead.measured is None
    assert "SIG" in dead.error
    assert not dead.accident
    assert living.plan.digest == right.digest
    assert living.checks is not None
    assert living.checks.accepted


def test_a_program_that_jaxlib_does_not_compile_is_an_error():
    def unknown(x):
        return jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    found = pytest.raises(NotExecutableError, match="no_such_target")
    with Measurer(_job(unknown), workers=1) as measurer, found:
        list(measurer.measure([MeasurementRequest(NARROW, SHORT)]))


def test_a_worker_that_is_stopped_before_the_default_has_run_is_an_accident():
    with Measurer(_job(), workers=1) as measurer:
        while not measurer.pids:
            time.sleep(0.01)
        os.kill(measurer.pids[0], signal.SIGSTOP)
        first, second = measurer.measure(
            [MeasurementRequest(NARROW, SHORT), MeasurementRequest(WIDE, SHORT)]
        )
    # It may have been replaced before it had a task.
    assert first.accident or first.measured is not None
    assert second.measured is not None


@pytest.mark.parametrize(
    ("lost", "faults"),
    [
        (WorkerTimedOutError("the worker was stopped", note=DEFAULT), [False, False, True]),
        (WorkerKilledError("killed by SIGKILL"), [False, False, True]),
        (WorkerCrashedError("a failed CHECK"), [True]),
        (WorkerTimedOutError("too long", note=DEFAULT, to_blame=True), [True]),
    ],
)
def test_a_loss_in_the_default_is_its_fault_if_it_repeats_or_has_no_other_cause(lost, faults, new):
    for fault in faults:
        if fault:
            with pytest.raises(NotExecutableError, match="default compilation or run"):
                new._lost(MeasurementRequest(NARROW, SHORT), lost)
        else:
            assert new._lost(MeasurementRequest(NARROW, SHORT), lost).accident


def test_a_search_that_is_left_ends_its_processes():
    with Measurer(_job(), workers=1) as measurer:
        for _ in measurer.measure(
            [MeasurementRequest(NARROW, SHORT), MeasurementRequest(WIDE, LONG)]
        ):
            (pid,) = measurer.pids
            break
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
