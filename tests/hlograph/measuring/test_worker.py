"""A worker that reads recorded loads."""

import itertools
import math
from contextlib import contextmanager
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.execution.load import Reading
from hlograph.execution.runs import Run
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.measuring import worker as worker_module
from hlograph.measuring.samples import Samples, others
from hlograph.measuring.trial import SCREEN, Effort, Job, MeasurementRequest
from hlograph.measuring.worker import MeasuringWorker
from hlograph.plans import Plan, Program

X = np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)
SHORT = Effort(pairs=4, block_seconds=0.0, max_seconds=60, thorough=True, least=3)


def _reader(share, until=10**6):
    """Returns what stands for a load meter: others take this share in each of so many blocks."""
    readings = iter(range(1, 10**6))

    def read():
        number = next(readings)
        waited = 10 * min(number, until) * share / (1 - share)
        return Reading(10 * number, 10 * number, round(waited), 0, 100)

    return lambda: read


@pytest.mark.parametrize(
    ("blocks", "cpus", "leads", "on_one"),
    [
        (0, {0, 1}, True, False),
        (10**6, {0, 1}, True, True),
        (10**6, {0}, True, False),  # there both have one anyway
        (10**6, {0, 1}, False, False),  # there is no lead to lose
        (20, {0, 1}, True, False),  # those of the first race, which is made again
    ],
)
def test_a_lead_on_a_busy_machine_has_to_hold_on_one_cpu(blocks, cpus, leads, on_one, monkeypatch):
    bound: list[set[int]] = []
    monkeypatch.setattr(worker_module, "LoadMeter", _reader(0.5, until=blocks))
    monkeypatch.setattr(worker_module, "_LEADS", 0.0 if leads else 1e9)
    monkeypatch.setattr("os.sched_getaffinity", lambda thread: cpus)
    monkeypatch.setattr("os.sched_setaffinity", lambda thread, cpus: bound.append(cpus))
    job = Job(Program.of(jax.jit(lambda x: jnp.tanh(x @ x)).lower(X)), [X])
    worker = MeasuringWorker(job, FlightRecorder())
    outcome = worker(MeasurementRequest(Plan(flags={"xla_cpu_optimize_for_size": True}), SHORT))
    assert outcome.measured is not None
    assert outcome.measured.busy is (blocks > 20)
    assert ({1} in bound) is on_one
    assert bool(bound) is on_one


@pytest.mark.parametrize(("long", "pairs"), [(0.0, 1), (60.0, 4)])
def test_long_runs_take_a_third_of_the_turns_and_no_control(long, pairs, monkeypatch):
    monkeypatch.setattr(worker_module, "LoadMeter", _reader(0.0))
    monkeypatch.setattr(worker_module, "LONG_RUN", long)
    monkeypatch.setattr(worker_module, "_QUIET", math.inf)
    job = Job(Program.of(jax.jit(lambda x: jnp.tanh(x @ x)).lower(X)), [X])
    worker = MeasuringWorker(job, FlightRecorder())
    outcome = worker(MeasurementRequest(Plan(flags={"xla_cpu_optimize_for_size": True}), SHORT))
    assert outcome.measured is not None
    assert outcome.measured.pairs == pairs
    assert (outcome.measured.control == 1) is (long == 0)


@pytest.mark.parametrize(("seconds", "entered"), [(2.0, 2), (100.0, 1)])
def test_nothing_is_timed_where_threads_spin_on_one_cpu(seconds, entered, monkeypatch):
    count = 0

    @contextmanager
    def on_one_cpu():
        nonlocal count
        count += 1
        with monkeypatch.context() as patch:
            patch.setattr(Run, "seconds", lambda run, calls=1: seconds)
            yield

    monkeypatch.setattr(worker_module, "LoadMeter", _reader(0.5))
    monkeypatch.setattr(worker_module, "_LEADS", 0.0)
    monkeypatch.setattr(worker_module, "on_one_cpu", on_one_cpu)
    monkeypatch.setattr("os.sched_getaffinity", lambda thread: {0, 1})
    job = Job(Program.of(jax.jit(lambda x: jnp.tanh(x @ x)).lower(X)), [X])
    worker = MeasuringWorker(job, FlightRecorder())
    worker._default_seconds = 0.5
    outcome = worker(MeasurementRequest(Plan(flags={"xla_cpu_optimize_for_size": True}), SHORT))
    assert outcome.measured is not None
    assert outcome.measured.low <= 1.0
    assert count == entered


@pytest.mark.parametrize(("busy", "shared"), [(0.0, 1), (1e3, 0)])
def test_programs_with_threads_run_alone(busy, shared, monkeypatch):
    """Those with one thread run beside others, when outputs are compared."""
    times = (busy * number for number in itertools.count())
    monkeypatch.setattr(worker_module.time, "process_time", lambda: next(times))
    monkeypatch.setattr(worker_module, "_LEADS", 1e9)
    compiling, count = worker_module.lock.compiling, 0

    @contextmanager
    def counted():
        nonlocal count
        count += 1
        with compiling():
            yield

    monkeypatch.setattr(worker_module.lock, "compiling", counted)
    job = Job(Program.of(jax.jit(lambda x: jnp.tanh(x @ x)).lower(X)), [X])
    worker = MeasuringWorker(job, FlightRecorder())
    count = 0
    plan = Plan(flags={"xla_cpu_optimize_for_size": True})
    assert worker(MeasurementRequest(plan, SCREEN)).checks is not None
    assert count == 1 + shared  # the compilation, and the run of the plan


def test_a_long_run_of_the_default_is_timed_once_for_all_screenings(monkeypatch):
    timed = []
    seconds = Run.seconds
    monkeypatch.setattr(
        Run, "seconds", lambda run, *calls: timed.append(run) or seconds(run, *calls)
    )
    monkeypatch.setattr(worker_module, "LONG_RUN", 0.0)
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
    monkeypatch.setattr(worker_module, "_LEADS", 1e9)  # a lead is checked on other inputs, too
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
