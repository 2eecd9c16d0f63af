"""Flags for loops that update arrays in place, on what jaxlib makes of them."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.execution.runs import Run
from hlograph.optimization.methods.known_plans import FlagSets, updates_what_it_reads
from hlograph.plans import Program, compile_program

N = 300
UPDATES = ("flags: updates in place", "flags: reads before updates")


def scan_that_keeps_what_it_reads(x):
    """Returns the last state, and an element of each state before its update."""
    return jax.lax.scan(lambda c, t: (c.at[t + 1].set(c[t] * 0.5), c[t]), x, jnp.arange(N - 1))


def exchange(x, y):
    """Exchanges the rows of two arrays, one after the other."""

    def body(t, arrays):
        first, second = arrays
        return first.at[t].set(second[t]), second.at[t].set(first[t])

    return jax.lax.fori_loop(0, len(x), body, (x, y))


def accumulation(x):
    """Adds to each row in turn what does not depend on the array."""
    return jax.lax.fori_loop(0, N, lambda t, a: a.at[t].set(jnp.sin(1.0 * t)), x)


def _program(function, *shapes):
    return Program.of(jax.jit(function).lower(*(jnp.ones(shape) for shape in shapes)))


def _plans(program):
    return {plan.method: plan for plan in FlagSets(program, "close").ask(1000)}


@pytest.mark.parametrize(
    ("function", "shapes", "method"),
    [
        (scan_that_keeps_what_it_reads, [(N,)], UPDATES[0]),
        (scan_that_keeps_what_it_reads, [(N,)], UPDATES[1]),
        (exchange, [(N, 8), (N, 8)], UPDATES[1]),
    ],
)
def test_a_loop_that_reads_what_it_updates_copies_nothing(function, shapes, method):
    program = _program(function, *shapes)
    plan = _plans(program)[method]
    default, fast = compile_program(program), compile_program(program, plan)
    assert _copies_in_loops(default, shapes[0]) > 0
    assert _copies_in_loops(fast, shapes[0]) == 0
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(shape, np.float32) for shape in shapes]
    for array, other in zip(
        Run(default, inputs).outputs(), Run(fast, inputs).outputs(), strict=True
    ):
        np.testing.assert_array_equal(array, other)


def test_such_flags_come_first_and_for_such_loops_alone():
    assert tuple(_plans(_program(exchange, (N, 8), (N, 8))))[:2] == UPDATES
    for function in (accumulation, jnp.sin, jnp.cumsum):
        program = _program(function, (N,))
        assert not updates_what_it_reads(program.flow)
        assert _plans(program).keys().isdisjoint(UPDATES)


def _copies_in_loops(executable, shape):
    """Returns the number of copies of arrays of a shape in computations beside the entry."""
    text = executable.hlo_modules()[0].to_string().partition("\nENTRY")[0]
    sizes = ",".join(map(str, shape))
    return len(re.findall(rf"= f32\[{sizes}\]\{{[\d,]*\}} copy\(", text))
