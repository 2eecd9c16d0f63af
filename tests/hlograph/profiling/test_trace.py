"""Tests of reading recorded events, made up as XLA's profiler records them."""

import time
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np

from hlograph.execution.runs import Run
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.profiling.trace import Span, _recorded_runs, record_parts


def _events(*events):
    """Returns the data of a profile with one line of events: name, begin, end."""
    made = [SimpleNamespace(name=n, start_ns=begin, end_ns=end) for n, begin, end in events]
    return SimpleNamespace(planes=[SimpleNamespace(lines=[SimpleNamespace(events=made)])])


def _read(*events, names=("dot", "loop")):
    return _recorded_runs(_events(*events), names)


def test_step_ends_where_its_end_is_marked():
    (run,) = _read(
        ("hlograph run", 0, 100),
        ("dot", 10, 20),
        ("end: dot", 18, 19),
        ("loop", 30, 35),
        ("end: loop", 80, 81),
        ("another program", 90, 95),
    )
    assert (run.start, run.end) == (0, 100)
    assert set(run.spans) == {Span("dot", 10, 18), Span("loop", 30, 80)}


def test_steps_of_a_loop_and_of_runs_are_kept_apart():
    first, second = _read(
        ("hlograph run", 100, 200),
        ("hlograph run", 0, 90),
        *[("dot", start, start + 5) for start in (10, 20, 110)],
        *[("end: dot", end, end) for end in (13, 24, 119)],
        ("dot", 95, 96),
    )
    assert first.spans == (Span("dot", 10, 13), Span("dot", 20, 24))
    assert second.spans == (Span("dot", 110, 119),)


def test_end_that_was_marked_too_late_is_that_of_the_run():
    first, second = _read(
        ("hlograph run", 0, 90),
        ("dot", 10, 15),
        ("end: dot", 91, 91),
        ("hlograph run", 100, 200),
        ("dot", 110, 115),
        ("end: dot", 150, 151),
    )
    assert first.spans == (Span("dot", 10, 90),)
    assert second.spans == (Span("dot", 110, 150),)


def test_step_without_an_end_ends_where_its_function_returned():
    (run,) = _read(("hlograph run", 0, 90), ("dot", 10, 15), ("dot", 20, 25), ("end: dot", 23, 24))
    assert run.spans == (Span("dot", 10, 15), Span("dot", 20, 23))


def test_parts_of_runs_show_steps_that_ran_then():
    def function(x, a):
        return jax.lax.fori_loop(0, 20_000, lambda i, c: jnp.sin(c @ a), x)

    rows = np.full((8, 8), 0.1, np.float32)
    executable = jax.jit(function).lower(rows, rows).compile().runtime_executable()
    program, run = OptimizedModule.of(executable), Run(executable, [rows, rows])
    (loop,) = (op.computation for op in program.instructions.values() if "sine" in op.name)
    parts = record_parts(run.seconds, [*[0.001] * 8, 60.0], 0.001, program.instructions)
    assert 1 <= len(parts) <= 8  # a run ends before 60 seconds are over
    assert all(part.seconds >= 0.001 for part in parts)
    steps = {span.name for part in parts for span in part.spans}
    assert steps <= program.instructions.keys()
    assert steps & {op.name for op in program.computations[loop]}


def test_parts_that_overlap_are_of_several_runs():
    begun = []

    def run():
        begun.append(time.perf_counter())
        time.sleep(0.2)

    parts = record_parts(run, [0.01, 0.011, 0.012], 0.005, ())
    assert len(begun) >= 2
    assert all(not part.spans for part in parts)
