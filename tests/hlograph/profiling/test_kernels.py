"""Tests of the times of kernels, on real programs. No test depends on how fast they are."""

import jax
import jax.numpy as jnp
import pytest

from hlograph.errors import HloError
from hlograph.profiling import kernels
from hlograph.profiling.kernel_categories import LOOP, OUTSIDE
from hlograph.profiling.kernels import kernel_times, measure
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.profiling.trace import record
from tests.hlograph.profiling.programs import (
    LOOP_TRIPS,
    branch,
    convolve,
    halve,
    multiply,
    normal,
    scan,
)


def _compiled(function, *inputs):
    compiled = jax.jit(function).lower(*inputs).compile()
    placed = [jax.device_put(array) for array in inputs]
    return compiled.runtime_executable(), lambda: jax.block_until_ready(compiled(*placed))


@pytest.mark.parametrize(
    ("kind", "function", "shapes"),
    [
        ("dot", lambda a, b: jnp.tanh(a @ b), [(64, 64)] * 2),
        ("convolution", convolve, [(2, 24, 24, 16), (3, 3, 16, 32)]),
        ("sort", jnp.sort, [(8, 64)]),
        ("top-k", lambda x: jax.lax.top_k(x, 8)[0] + 1, [(4, 512)]),
        ("elementwise", jnp.sin, [(64, 64)]),
        ("reduction", lambda x: x.sum(), [(64, 64)]),
        ("gather or scatter", lambda x: x[jnp.argmax(x, 1)], [(64, 64)]),
        ("linear algebra", lambda x: jnp.linalg.qr(x)[1], [(16, 16)]),
        ("fft", jnp.fft.fft, [(64, 100)]),
        ("transpose or copy", lambda x: x.T, [(64, 64)]),
    ],
)
def test_program_has_kernels_of_its_kind(kind, function, shapes):
    kernels = kernel_times(*_compiled(function, *(normal(*shape) for shape in shapes)), runs=1)
    assert kind in {kernel.kind for kernel in kernels}


def test_program_that_a_sort_dominates_says_so():
    # The sort takes several hundred times as long as the addition.
    kernels = kernel_times(*_compiled(lambda x: jnp.sort(x + 1), normal(8, 16384)), runs=4)
    kinds = [kernel.kind for kernel in kernels if kernel.kind != OUTSIDE]
    assert (kinds[0], len(kinds)) == ("sort", 2)


def test_times_sum_to_the_run():
    measured = measure(*_compiled(scan, normal(8, 16), normal(16, 16)), runs=4)
    assert sum(k.seconds for k in measured.kernels) == pytest.approx(measured.seconds)
    assert all(k.seconds >= 0 for k in measured.kernels)
    assert measured.accounted > 0
    assert measured.recorded_seconds > 0
    seconds = [k.seconds for k in measured.kernels]
    assert seconds == sorted(seconds, reverse=True)
    assert [k.name for k in measured.kernels].count(OUTSIDE) == 1


def test_loop_body_is_attributed_to_the_body():
    measured = measure(*_compiled(scan, normal(8, 16), normal(16, 16)), runs=4)
    kernels = {kernel.name: kernel for kernel in measured.kernels}
    (loop,) = (kernel for kernel in kernels.values() if kernel.opcode == "while")
    assert (loop.kind, loop.calls) == (LOOP, 1)
    bodies = set(measured.program.callers())
    inside = [kernel for kernel in kernels.values() if kernel.computation in bodies]
    assert {kernel.calls for kernel in inside} == {LOOP_TRIPS}
    assert "dot" in {kernel.kind for kernel in inside}
    assert any("while" in kernel.op_name for kernel in inside)


def test_trips_that_depend_on_the_data_are_counted():
    kernels = kernel_times(*_compiled(halve, 1000 + jnp.zeros(8000)), runs=2)
    calls = {kernel.kind: set() for kernel in kernels}
    for kernel in kernels:
        calls[kernel.kind].add(kernel.calls)
    assert 10 in calls["elementwise"]
    assert 11 in calls["reduction"]


@pytest.mark.parametrize(
    ("sign", "kind", "other"), [(1, "sort", "reduction"), (-1, "reduction", "sort")]
)
def test_only_the_branch_that_was_taken_has_times(sign, kind, other):
    kernels = kernel_times(*_compiled(branch, sign * abs(normal(16, 512))), runs=2)
    kinds = {kernel.kind for kernel in kernels}
    assert kind in kinds
    assert other not in kinds


def test_kernels_are_the_same_each_time():
    program = _compiled(scan, normal(8, 16), normal(16, 16))
    first, second = (
        {
            (k.name, k.computation, k.opcode, k.kind, k.calls, k.library, k.shape, k.op_name)
            for k in ks
        }
        for ks in (kernel_times(*program, runs=runs) for runs in (1, 3))
    )
    assert first == second


def test_recorded_steps_lie_in_their_run():
    executable, run = _compiled(scan, normal(8, 16), normal(16, 16))
    program = OptimizedModule.of(executable)
    runs = record(run, 3, program.instructions)
    assert len(runs) == 3
    assert len({len(recorded.spans) for recorded in runs}) == 1
    for recorded in runs:
        assert recorded.seconds > 0
        for span in recorded.spans:
            assert recorded.start <= span.start <= span.end
            assert span.start < recorded.end


def test_a_program_of_many_steps_is_recorded_once(monkeypatch):
    monkeypatch.setattr(kernels, "_MOST_RECORDED_STEPS", 10)
    recorded = []
    monkeypatch.setattr(kernels, "record", lambda *args: recorded.append(args) or record(*args))
    executable, run = _compiled(scan, normal(8, 16), normal(16, 16))
    times = kernels.measure(executable, run, runs=4)
    assert len(recorded) == 1
    assert len(times.fastest.spans) > 10
    assert sum(kernel.seconds for kernel in times.kernels) == pytest.approx(times.seconds)


def test_preparation_runs_before_each_run():
    executable, run = _compiled(multiply, normal(4, 4), normal(4, 4))
    events = []
    kernel_times(
        executable,
        lambda: (events.append("run"), run()),
        runs=2,
        before=lambda: events.append("before"),
    )
    assert set(events[::2]) == {"before"}
    assert set(events[1::2]) == {"run"}


def test_function_that_runs_nothing_is_rejected():
    executable, _ = _compiled(multiply, normal(4, 4), normal(4, 4))
    with pytest.raises(HloError, match=r"recorded no step of jit_multiply.*runs the executable"):
        kernel_times(executable, lambda: None)


def test_bad_arguments_are_rejected():
    executable, run = _compiled(multiply, normal(4, 4), normal(4, 4))
    with pytest.raises(ValueError, match="expected at least 1 run, got 0"):
        kernel_times(executable, run, runs=0)
    with pytest.raises(HloError, match="expected an executable of jaxlib"):
        kernel_times("no executable", run)  # pyright: ignore[reportArgumentType]


def test_another_profile_is_in_the_way(tmp_path):
    executable, run = _compiled(multiply, normal(4, 4), normal(4, 4))
    with (
        jax.profiler.trace(str(tmp_path)),
        pytest.raises(HloError, match="no other profile is being recorded"),
    ):
        kernel_times(executable, run)
    assert kernel_times(executable, run, runs=1)


def test_error_of_the_program_ends_the_profile():
    executable, run = _compiled(multiply, normal(4, 4), normal(4, 4))

    def fail():
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        kernel_times(executable, fail)
    assert kernel_times(executable, run, runs=1)
