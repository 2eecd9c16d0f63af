"""Predicted kernels of optimized modules: seconds, and what bounds them."""

import math

import jax
import jax.numpy as jnp
import pytest

from hlograph.execution.rates import default_rates, features
from hlograph.plans import Program
from hlograph.plans.compiling import optimized_module
from hlograph.profiling import KINDS
from hlograph.profiling import predicted_kernels as predicting
from hlograph.profiling.kernel_modules import kernel_modules
from hlograph.profiling.kernel_seconds import LEAST_SECONDS, PredictedTime, RatedKernels
from hlograph.profiling.optimized_module import OptimizedModule
from tests.hlograph.profiling.programs import LOOP, LOOP_TRIPS, halve, multiply, scan

ALONE = RatedKernels(alone=True)


def array(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def optimized(function, *arguments):
    program = Program.of(jax.jit(function).lower(*arguments))
    return OptimizedModule.from_proto(optimized_module(program))


def predicted(function, *arguments):
    program = optimized(function, *arguments)
    return predicting.predicted_kernels(program, ALONE, default_rates())


def test_kernels_are_in_order_and_add_up_to_a_run():
    program = optimized(scan, array(64, 64), array(64, 64))
    kernels = predicting.predicted_kernels(program, ALONE, default_rates())
    seconds = [kernel.seconds for kernel in kernels]
    assert seconds == sorted(seconds, reverse=True)
    assert sum(seconds) == pytest.approx(ALONE(kernel_modules(program), {}).seconds)
    assert sum(kernel.share for kernel in kernels) == pytest.approx(1)
    assert {kernel.kind for kernel in kernels} <= set(KINDS)
    dot = next(kernel for kernel in kernels if kernel.kind == "dot")
    assert dot.calls == LOOP_TRIPS
    outside = next(kernel for kernel in kernels if kernel.name == "outside kernels")
    assert outside.seconds == pytest.approx(default_rates().call)


def test_a_kernel_within_a_program_takes_no_call_of_a_program():
    modules = kernel_modules(optimized(multiply, array(64, 64), array(64, 64)))
    called, alone = RatedKernels()(modules, {}), ALONE(modules, {})
    assert alone.kernels[0] == pytest.approx(called.kernels[0] - default_rates().call)
    assert min(alone.kernels) >= LEAST_SECONDS


@pytest.mark.parametrize(
    ("bound", "function", "shapes"),
    [
        ("arithmetic", multiply, [(512, 512), (512, 512)]),
        ("arithmetic", jnp.sin, [(512, 512)]),
        ("memory", jnp.add, [(512, 512), (512, 512)]),
        ("memory", lambda x: jnp.concatenate([x, x]), [(512, 512)]),
        ("memory", lambda x: x.sum(), [(512, 512)]),
        ("arithmetic", lambda x: ((x * x + 1) * x - 2) * x + 3, [(512, 512)]),
        ("calls", jnp.add, [(4,), (4,)]),
    ],
)
def test_what_bounds_a_kernel(bound, function, shapes):
    kernels = predicted(function, *(array(*shape) for shape in shapes))
    own = [kernel for kernel in kernels if kernel.opcode not in ("", "while")]
    assert own[0].bound_by == bound


def test_equal_kernels_are_read_once(monkeypatch):
    read = []

    def bound_of(text, rates):
        read.append(text)
        return "memory"

    monkeypatch.setattr(predicting, "_bound_of", bound_of)
    program = optimized(lambda x, y: (jnp.sort(x), jnp.sort(y)), array(64), array(64))
    texts = [module.text for module in kernel_modules(program)]
    kernels = predicting.predicted_kernels(program, ALONE, default_rates())
    assert len(read) < len(texts)
    assert sorted(read) == sorted(set(texts))
    assert [kernel.bound_by for kernel in kernels if kernel.opcode] == ["memory"] * len(texts)


def test_each_feature_is_of_one_class():
    classes = (predicting._CALLS, predicting._MEMORY, predicting._CHEAP)
    assert sum(map(len, classes)) == len(frozenset().union(*classes))
    assert frozenset().union(*classes) < set(features())


def test_loops_that_only_values_end_are_named():
    program = optimized(halve, array(4, 4))
    (loop,) = predicting.loops_of_unknown_length(program)
    assert program.instructions[loop].opcode == "while"
    assert predicting.loops_of_unknown_length(OptimizedModule.from_text(LOOP)) == ()


def test_seconds_may_be_those_of_another_function():
    def constant(kernels, flags):
        assert flags == {}
        return PredictedTime(1.0 + 2.0 * len(kernels), (2.0,) * len(kernels))

    program = optimized(multiply, array(8, 8), array(8, 8))
    *kernels, outside = predicting.predicted_kernels(program, constant, default_rates())
    assert [kernel.seconds for kernel in kernels] == [2.0] * len(kernels)
    assert math.isclose(outside.seconds, 1.0)
