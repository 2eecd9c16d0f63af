"""Divisions of constants get a barrier before conversion, and no others do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.reading.constant_divisions import guarded
from hlograph.reading.stablehlo import from_lowered

X = np.arange(6, dtype=np.int32)


def _constants(x):
    return x + jax.lax.rem(jnp.full(6, 5, jnp.int32), jnp.zeros(6, jnp.int32))


@jax.jit
def _ratio(a, b):
    return jax.lax.div(a, b)


def _in_a_call(x):
    return x + _ratio(jnp.full(6, 5, jnp.int32), jnp.zeros(6, jnp.int32))


def _in_a_branch(x):
    five, zero = jnp.full(6, 5, jnp.int32), jnp.zeros(6, jnp.int32)
    return jax.lax.cond(x[0] > 0, lambda: jax.lax.div(five, zero), lambda: x)


def _of_a_difference(x):
    return x ^ jax.lax.rem(x - x, x * 0)


@pytest.mark.parametrize("function", [_constants, _in_a_call, _in_a_branch, _of_a_difference])
def test_a_division_of_constants_is_not_folded(function):
    lowered = jax.jit(function).lower(X)
    module = lowered.compiler_ir("stablehlo")
    assert str(guarded(module)).count("optimization_barrier") == 1
    assert "optimization_barrier" not in str(module)
    form, data = from_lowered(lowered)  # jaxlib 0.10.2 ends the process without a barrier
    assert form == "proto"
    assert b"opt-barrier" in data


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jax.lax.div(x, jnp.zeros(6, jnp.int32)),
        lambda x: jax.lax.div(jnp.full(6, 5, jnp.int32), x),
        lambda x: x * jax.lax.div(jnp.ones(6), jnp.zeros(6)),
        lambda x: _ratio(x, x),
        lambda x: x + jnp.arange(6) // 2,
        lambda x: x + jnp.arange(6) % 3,
        lambda x: x + _ratio(jnp.arange(6), jnp.array([1, 2, 3, 4, 5, 6])),
    ],
)
def test_other_divisions_stay_as_they_are(function):
    module = jax.jit(function).lower(X).compiler_ir("stablehlo")
    assert guarded(module) is module
