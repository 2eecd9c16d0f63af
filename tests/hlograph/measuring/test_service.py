import os
import signal
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.errors import NotExecutableError
from hlograph.measuring.service import Measurer
from hlograph.measuring.trial import Effort, Job, Trial
from hlograph.plans import Plan
from hlograph.programs import Program

X = np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)
SHORT = Effort(pairs=4, block_seconds=0.001, max_seconds=1, thorough=False)
LONG = Effort(pairs=10**9, block_seconds=0.001, max_seconds=60, thorough=False)
THOROUGH = Effort(pairs=4, block_seconds=0.001, max_seconds=1, thorough=True)
NARROW = Plan(flags={"xla_cpu_prefer_vector_width": 128})
WIDE = Plan(flags={"xla_cpu_prefer_vector_width": 256})
SMALL = Plan(flags={"xla_cpu_optimize_for_size": True})


def _job(function=lambda x: jnp.tanh(x @ x), donate=()):
    lowered = jax.jit(function, donate_argnums=donate).lower(X)
    return Job(Program.of(lowered), [X])


def test_what_a_trial_finds():
    unknown = Plan(steps=("no-such-pass",))
    trials = [Trial(NARROW, THOROUGH), Trial(SMALL, SHORT), Trial(unknown, SHORT)]
    with Measurer(_job(donate=(0,)), workers=1) as measurer:
        found = {outcome.plan.digest: outcome for outcome in measurer.measure(trials)}
    thorough, quick = found[NARROW.digest], found[SMALL.digest]
    assert thorough.thorough
    assert thorough.checks is not None
    assert len(thorough.checks.samples) == 9
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


def test_a_worker_that_dies_costs_its_candidate():
    with Measurer(_job(), workers=1) as measurer:

        def trials():
            yield Trial(NARROW, SHORT)
            (pid,) = measurer.pids
            threading.Timer(0.5, os.kill, (pid, signal.SIGKILL)).start()
            yield Trial(WIDE, LONG)
            yield Trial(SMALL, SHORT)

        before, lost, after = measurer.measure(trials())
    assert before.measured is not None
    assert lost.plan.digest == WIDE.digest
    assert lost.measured is None
    assert "SIGKILL" in lost.error
    assert after.measured is not None


def test_a_program_that_jaxlib_does_not_compile_is_an_error():
    def unknown(x):
        return jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    found = pytest.raises(NotExecutableError, match="no_such_target")
    with Measurer(_job(unknown), workers=1) as measurer, found:
        list(measurer.measure([Trial(NARROW, SHORT)]))


def test_a_search_that_is_left_ends_its_processes():
    with Measurer(_job(), workers=1) as measurer:
        for _ in measurer.measure([Trial(NARROW, SHORT), Trial(WIDE, LONG)]):
            (pid,) = measurer.pids
            break
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
