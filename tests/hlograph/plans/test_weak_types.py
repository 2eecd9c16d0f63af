"""Tests of compiled functions that tell weak types apart."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.plans import Plan, compile_lowered

X = jnp.ones(3, jnp.bfloat16)
WIDE = Plan(flags={"xla_cpu_prefer_vector_width": 512})


@pytest.mark.parametrize("plan", [Plan(), WIDE])
def test_a_number_is_no_array(plan):
    scale = jax.jit(lambda x, s: x * s)
    compiled = compile_lowered(scale.lower(X, np.float32(2)), plan)
    for _ in range(2):  # in Python, and in C++
        assert compiled(X, np.float32(2)).dtype == jnp.float32
        with pytest.raises(TypeError, match="expected a strong type as argument 1, got float"):
            compiled(X, 2.0)


def test_an_array_is_no_number():
    compiled = compile_lowered(jax.jit(lambda x, s: x * s).lower(X, 2.0), WIDE)
    for _ in range(2):
        assert compiled(X, 3.0).dtype == jnp.bfloat16
        with pytest.raises(TypeError, match="expected a weak type as argument 1"):
            compiled(X, np.float32(3))


def test_unused_arguments_count():
    compiled = compile_lowered(jax.jit(lambda unused, x: x + 1).lower(1.0, X), WIDE)
    assert compiled(2.0, X).dtype == jnp.bfloat16
    with pytest.raises(TypeError, match="expected a weak type as argument 0"):
        compiled(np.float32(1), X)
