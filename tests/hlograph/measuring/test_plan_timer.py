"""Times of plans beside the default, with recorded loads."""

import math
from contextlib import contextmanager

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.execution.load import Reading
from hlograph.execution.runs import Run
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.measuring import plan_timer
from hlograph.measuring import worker as worker_module
from hlograph.measuring.trial import Effort, Job, MeasurementRequest
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
    monkeypatch.setattr(plan_timer, "LoadMeter", _reader(0.5, until=blocks))
    monkeypatch.setattr(plan_timer, "LEADS", 0.0 if leads else 1e9)
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
    monkeypatch.setattr(plan_timer, "LoadMeter", _reader(0.0))
    for module in (worker_module, plan_timer):
        monkeypatch.setattr(module, "LONG_RUN", long)
    monkeypatch.setattr(plan_timer, "_QUIET", math.inf)
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

    monkeypatch.setattr(plan_timer, "LoadMeter", _reader(0.5))
    monkeypatch.setattr(plan_timer, "LEADS", 0.0)
    monkeypatch.setattr(plan_timer, "on_one_cpu", on_one_cpu)
    monkeypatch.setattr("os.sched_getaffinity", lambda thread: {0, 1})
    job = Job(Program.of(jax.jit(lambda x: jnp.tanh(x @ x)).lower(X)), [X])
    worker = MeasuringWorker(job, FlightRecorder())
    worker._timer._seconds = 0.5
    outcome = worker(MeasurementRequest(Plan(flags={"xla_cpu_optimize_for_size": True}), SHORT))
    assert outcome.measured is not None
    assert outcome.measured.low <= 1.0
    assert count == entered
