"""Shares of a run's time, from times of kernels that are given."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.execution.runs import Run
from hlograph.measuring import compiled
from hlograph.measuring.compiled import Shares
from hlograph.profiling.optimized_module import OptimizedModule

ROWS = np.zeros((4, 4096), np.float32)


def _names(program, computation):
    return {op.name for op in program.computations[computation]}


def test_a_loop_takes_the_time_of_all_that_it_runs():
    def function(x):
        return jax.lax.fori_loop(0, 20, lambda _, c: jnp.sort(jnp.sin(c)), x) + 1

    executable = jax.jit(function).lower(ROWS).compile().runtime_executable()
    program = OptimizedModule.of(executable)
    names = {op.opcode: op.name for op in program.instructions.values()}
    (sine,) = [
        op.name
        for op in program.instructions.values()
        for computation in op.calls
        if op.opcode == "fusion" and names["sine"] in _names(program, computation)
    ]
    (last,) = [op.name for op in program.computations[program.entry] if op.opcode == "fusion"]
    own = {names["sort"]: 0.5, sine: 0.3, last: 0.1, "no instruction": 0.1}
    shares = Shares.of_kernels(own, program)
    assert shares.kinds["while"] == pytest.approx(0.8)
    assert shares.kinds["sort"] == shares.kinds[f"sort {ROWS.size}"] == 0.5
    assert shares.kinds["sine"] == 0.3
    assert "no instruction" not in shares.instructions


@pytest.mark.parametrize(("steps", "seconds"), [(100, 1e9), (1e12, 0.0)])
def test_of_a_loop_of_many_steps_or_a_long_run_parts_are_recorded(steps, seconds, monkeypatch):
    def function(x, a):
        first = jax.lax.fori_loop(0, 60_000, lambda i, c: jnp.sin(c @ a), x)
        return jax.lax.fori_loop(0, 6_000, lambda i, c: jnp.cos(c @ a), first)

    def measured(*args, **kwargs):
        raise AssertionError("whole runs are recorded")

    monkeypatch.setattr(compiled, "measure", measured)
    # On a busy machine parts show little.
    monkeypatch.setattr(compiled, "_MANY_STEPS", steps)
    monkeypatch.setattr(compiled, "_LONG_SECONDS", seconds)
    monkeypatch.setattr(compiled, "_SHOWING", 0.01)
    rows = np.full((8, 8), 0.1, np.float32)
    executable = jax.jit(function).lower(rows, rows).compile().runtime_executable()
    shares = Shares.of(executable, Run(executable, [rows, rows]))
    assert shares.kinds["while"] > 0.5
    assert shares.kinds["sine"] > shares.kinds.get("cosine", 0.0)
