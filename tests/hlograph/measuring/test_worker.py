"""The worker that compiles, compares and times plans."""

from contextlib import contextmanager
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.execution.runs import Run
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.measuring import plan_timer
from hlograph.measuring import worker as worker_module
from hlograph.measuring.samples import Samples, others
from hlograph.measuring.trial import SCREEN, Effort, Job, MeasurementRequest
from hlograph.measuring.worker import MeasuringWorker
from hlograph.plans import Plan, Program

X = np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)
SHORT = Effort(pairs=4, block_seconds=0.0, max_seconds=60, thorough=True, least=3)


@pytest.mark.parametrize(("function", "shared"), [(jnp.tanh, 2), (jnp.linalg.inv, 1)])
def test_programs_that_call_lapack_run_alone(function, shared, monkeypatch):
    """Others run beside compilations and other runs, when outputs are compared."""
    compiling, count = worker_module.lock.compiling, 0

    @contextmanager
    def counted():
        nonlocal count
        count += 1
        with compiling():
            yield

    monkeypatch.setattr(worker_module.lock, "compiling", counted)
    inputs = X + np.eye(8, dtype=np.float32)
    job = Job(Program.of(jax.jit(lambda x: function(x @ x)).lower(X)), [inputs])
    worker = MeasuringWorker(job, FlightRecorder())
    count = 0
    plan = Plan(flags={"xla_cpu_optimize_for_size": True})
    monkeypatch.setattr(worker_module, "LEADS", 1e9)
    assert worker(MeasurementRequest(plan, SCREEN)).checks is not None
    assert count == shared  # the compilation, and the run of the plan


def test_a_long_run_of_the_default_is_timed_once_for_all_screenings(monkeypatch):
    timed = []
    seconds = Run.seconds
    monkeypatch.setattr(
        Run, "seconds", lambda run, *calls: timed.append(run) or seconds(run, *calls)
    )
    for module in (worker_module, plan_timer):
        monkeypatch.setattr(module, "LONG_RUN", 0.0)
    job = Job(Program.of(jax.jit(lambda x: jnp.tanh(x @ x)).lower(X)), [X])
    worker = MeasuringWorker(job, FlightRecorder())
    monkeypatch.setattr(worker_module, "_SETTLES", 0.0)
    for width in (128, 256):
        plan = Plan(flags={"xla_cpu_prefer_vector_width": width})
        assert worker(MeasurementRequest(plan, SCREEN)).measured is not None
    assert len(timed) == 3
    assert len(set(timed)) == 3


@pytest.mark.parametrize("given", [[X], None])
def test_processes_that_share_samples_compare_all_of_them(given):
    program = Program.of(jax.jit(lambda x: jnp.tanh(x @ x)).lower(X))
    samples = Samples(program, given, 0)
    names = {sample.name for sample in (*samples.usual, *samples.adversarial())}
    left_out = [others(number, 3, is_given=given is not None) for number in range(3)]
    assert all(names > left for left in left_out)
    assert set.union(*(names - left for left in left_out)) == names
    assert set.intersection(*(names - left for left in left_out)) == {samples.usual[0].name}


def test_outputs_of_the_first_run_of_the_default_are_compared(monkeypatch):
    runs = []
    outputs = Run.outputs
    monkeypatch.setattr(Run, "outputs", lambda run: runs.append(run) or outputs(run))
    job = Job(Program.of(jax.jit(lambda x: jnp.tanh(x @ x)).lower(X)), [X])
    worker = MeasuringWorker(job, FlightRecorder())
    assert len(runs) == 1
    monkeypatch.setattr(worker_module, "LEADS", 1e9)  # a lead is checked on other inputs, too
    plan = Plan(flags={"xla_cpu_optimize_for_size": True})
    outcome = worker(MeasurementRequest(plan, replace(SHORT, thorough=False)))
    assert outcome.checks is not None
    assert outcome.checks.samples == ("given",)
    assert len(runs) == 2


class _Limits(FlightRecorder):
    """A flight recorder that keeps the time limits of operations, by their notes."""

    def __init__(self):
        super().__init__()
        self.limits: dict[bytes, list[float | None]] = {}

    def begin(self, note, seconds=None):
        self.limits.setdefault(note, []).append(seconds)
        super().begin(note, seconds)


def test_a_compilation_may_take_longer_in_a_final_than_in_a_screening():
    program = Program.of(jax.jit(lambda x: jnp.tanh(x @ x)).lower(X))
    plan = Plan(flags={"xla_cpu_optimize_for_size": True})

    def limit_of_compilation(budget, thorough):
        recorder = _Limits()
        worker = MeasuringWorker(Job(program, [X], budget=budget), recorder)
        worker(MeasurementRequest(plan, replace(SHORT, thorough=thorough)))
        return recorder.limits[plan.digest.encode()][0]

    assert limit_of_compilation(0.0, thorough=False) < 20  # some times as long as the default
    assert limit_of_compilation(60.0, thorough=False) == 12
    assert limit_of_compilation(3600.0, thorough=False) > 20
    assert limit_of_compilation(60.0, thorough=True) > 20
