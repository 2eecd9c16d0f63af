"""Kernels of an optimized module as modules of their own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph.execution.runs import Run
from hlograph.plans import Plan, Program, compile_program
from hlograph.profiling.kernel_categories import OUTSIDE
from hlograph.profiling.kernel_modules import kernel_modules
from hlograph.profiling.kernels import measure
from hlograph.profiling.optimized_module import OptimizedModule
from tests.hlograph.profiling.programs import LOOP

X, W = (np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32) for _ in range(2))


def network(x):
    for _ in range(3):
        x = jnp.tanh(x @ W)
    return jax.lax.fori_loop(0, 5, lambda _, y: jnp.sin(y @ W), x)


@pytest.mark.parametrize("threshold", [None, 4_000_000])
def test_the_kernels_are_those_that_run(threshold):
    program = Program.of(jax.jit(network).lower(X))
    flags = {} if threshold is None else {"xla_cpu_small_while_loop_byte_threshold": threshold}
    executable = compile_program(program, Plan(flags=flags))
    found = {kernel.name: kernel for kernel in kernel_modules(OptimizedModule.of(executable))}
    ran = measure(executable, Run(executable, [X]).seconds, runs=2, max_seconds=0.5).kernels
    timed = [kernel for kernel in ran if kernel.kind != OUTSIDE]
    assert timed
    for kernel in timed:
        assert found[kernel.name].calls == kernel.calls


def test_the_body_of_a_loop_whose_end_is_not_known_runs_as_often_as_predictions_take_it_to():
    def halved(x):
        return jax.lax.while_loop(lambda y: (y @ y).sum() > 1, lambda y: jnp.sin(y @ W), x)

    program = Program.of(jax.jit(halved).lower(X))
    kernels = kernel_modules(OptimizedModule.of(compile_program(program)))
    calls = {kernel.calls for kernel in kernels if "dot(" in kernel.text}
    assert calls == {8.0}


def test_equal_kernels_have_equal_texts_that_hold_all_that_they_need():
    program = Program.of(jax.jit(network).lower(X))
    kernels = kernel_modules(OptimizedModule.of(compile_program(program)))
    dots = [kernel for kernel in kernels if "dot(" in kernel.text and kernel.calls == 1]
    assert len(dots) == 3  # of the layers; that of the loop runs five times
    assert len({kernel.text for kernel in dots}) == 1
    for kernel in kernels:
        if kernel.text.startswith("HloModule"):
            graph = hlograph.parse(kernel.text)
            assert graph.is_entry.any()
        else:
            assert kernel.text == "while"


def test_names_and_metadata_leave_no_trace():
    program = OptimizedModule.from_text(LOOP)
    other = LOOP.replace("twice", "doubled").replace("%a:", "%first:").replace("%a ", "%first ")
    other = other.replace("%a,", "%first,").replace("body,", "body, other,")
    assert kernel_modules(OptimizedModule.from_text(other))[1:] != []
    texts = [kernel.text for kernel in kernel_modules(program)]
    assert [k.text for k in kernel_modules(OptimizedModule.from_text(other))] == texts
    by_name = {kernel.name: kernel for kernel in kernel_modules(program)}
    assert by_name["twice"].calls == 10
    assert by_name["loop"] == ("loop", "while", 1.0)
    assert "op_name" not in by_name["twice"].text
    assert (
        by_name["twice"].text.count("parameter(") == 3
    )  # an operand that is used twice counts once
