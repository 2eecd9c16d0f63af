"""Small jax functions with known results, and what tests ask of their plans."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlograph.plans import Placement, Plan, Program, compile_lowered
from hlograph.plans.compiling import optimized_module
from hlograph.plans.jaxlib_modules import fingerprint

_NUMBERS = np.random.default_rng(7)


def array(*shape: int) -> jax.Array:
    """Returns an array of normal random numbers."""
    return jnp.asarray(_NUMBERS.standard_normal(shape), jnp.float32)


def step(params: dict[str, Any], batch: tuple[jax.Array, jax.Array]) -> tuple[Any, jax.Array]:
    """Takes a training step with nested pytrees."""

    def loss(params: dict[str, Any]) -> jax.Array:
        hidden = jnp.tanh(batch[0] @ params["first"]["w"] + params["first"]["b"])
        return jnp.mean((hidden @ params["last"] - batch[1]) ** 2)

    value, gradient = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda a, b: a - 0.1 * b, params, gradient), value


def step_arguments() -> tuple[Any, Any]:
    """Returns arguments of ``step``."""
    params = {"first": {"w": array(64, 128), "b": array(128)}, "last": array(128, 32)}
    return params, (array(256, 64), array(256, 32))


def loop(x: jax.Array, m: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Runs a loop of small operations."""

    def body(carry: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        carry = carry + 0.01 * jnp.tanh(m @ carry)
        return carry, carry[:2]

    return jax.lax.scan(body, x, None, length=20)


def waves(x: jax.Array) -> jax.Array:
    """Computes a fusion that is divided among threads on machines with several."""
    return jnp.sin(x.T) * jnp.exp(-x * x)


def constants(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Uses large constants, read by two kernels."""
    table = np.arange(64.0 * 64, dtype=np.float32).reshape(64, 64) / 4096
    return jnp.tanh(x @ table) + table, (x * table).sum(0)


# By its default jaxlib 0.12 compiles many loops as one kernel, in which nothing can be placed.
_FLAGS = {"xla_cpu_small_while_loop_byte_threshold": 0}


def program_of(lowered: Any) -> tuple[bytes, str]:
    """Returns the optimized module of a lowered function, and its fingerprint."""
    proto = optimized_module(Program.of(lowered), Plan(flags=_FLAGS))
    return proto, fingerprint(proto)


def planned(lowered: Any, *placements: Placement) -> Any:
    """Returns a lowered function compiled with placements."""
    _, placed = program_of(lowered)
    return compile_lowered(lowered, Plan(flags=_FLAGS, placements=placements, placed=placed))


def text_of(compiled: Any) -> str:
    """Returns the HLO text of a compiled function."""
    return compiled.as_text()


def assert_same(found: Any, expected: Any) -> None:
    """Asserts that pytrees of arrays are equal but for rounding."""
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-4, atol=1e-5)
