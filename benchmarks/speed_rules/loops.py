"""Cases of loops."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.case import Case, floats


def recurrent(weights: Any, series: jax.Array, start: jax.Array) -> Any:
    """Runs a recurrent network, and projects its states."""
    first, second, last = weights

    def step(state: jax.Array, row: jax.Array) -> Any:
        state = jnp.tanh(row @ first + state @ second)
        return state, state @ last

    return jax.lax.scan(step, start, series)[1]


def recurrent_loss(weights: Any, series: jax.Array, start: jax.Array) -> Any:
    """Returns gradients of the weights."""
    return jax.grad(lambda given: (recurrent(given, series, start) ** 2).mean())(weights)


def random_walk(rng: jax.Array, places: jax.Array) -> Any:
    """Moves places by random numbers."""

    def step(places: jax.Array, key: jax.Array) -> Any:
        return 0.99 * places + jax.random.uniform(key, places.shape), places.sum()

    return jax.lax.scan(step, places, jax.random.split(rng, 200))


def variates(rng: jax.Array) -> Any:
    """Draws random numbers."""
    return jax.random.uniform(rng, (256, 1024))


def gated(weights: jax.Array, series: jax.Array, start: jax.Array) -> Any:
    """Runs a network with gated recurrent units."""

    def step(state: jax.Array, row: jax.Array) -> Any:
        gates = jax.nn.sigmoid(jnp.concatenate([row, state], -1) @ weights[:, :512])
        reset, update = jnp.split(gates, 2, axis=-1)
        new = jnp.tanh(jnp.concatenate([row, reset * state], -1) @ weights[:, 512:])
        state = update * state + (1 - update) * new
        return state, state

    return jax.lax.scan(step, start, series)[1]


def memory(weights: jax.Array, projected: jax.Array, start: Any) -> Any:
    """Runs a long short-term memory on inputs that are projected already."""

    def step(carry: Any, row: jax.Array) -> Any:
        hidden, cell = carry
        first, second, third, fourth = jnp.split(row + hidden @ weights, 4, axis=-1)
        cell = jax.nn.sigmoid(second) * cell + jax.nn.sigmoid(first) * jnp.tanh(third)
        hidden = jax.nn.sigmoid(fourth) * jnp.tanh(cell)
        return (hidden, cell), hidden

    return jax.lax.scan(step, start, projected)[1]


def small_system(matrix: jax.Array, state: jax.Array) -> Any:
    """Solves a small differential equation."""

    def step(state: jax.Array, _: None) -> Any:
        middle = state + 0.005 * jnp.tanh(matrix @ state)
        state = state + 0.01 * jnp.tanh(matrix @ middle)
        return state, state

    return jax.lax.scan(step, state, length=2000)


def network(batch: int, steps: int, inputs: int, width: int, outputs: int) -> tuple[Any, ...]:
    """Returns the shapes of a recurrent network's arguments."""
    weights = (floats(inputs, width), floats(width, width), floats(width, outputs))
    return weights, floats(steps, batch, inputs), floats(batch, width)


KEY = jax.random.PRNGKey(0)

CASES = (
    Case(
        ("hoist-projection",),
        "128 steps, batch 4, 1024 inputs, 64 states",
        recurrent,
        network(4, 128, 1024, 64, 64),
    ),
    Case(
        ("hoist-projection",),
        "128 steps, batch 4, 256 inputs, 256 states",
        recurrent,
        network(4, 128, 256, 256, 256),
        pays=False,
    ),
    Case(
        ("sink-projection",),
        "128 steps, batch 4, 256 states, 1024 outputs",
        recurrent,
        network(4, 128, 64, 256, 1024),
    ),
    Case(
        ("sink-accumulation",),
        "gradient, 128 steps, batch 4, 256 inputs, 256 states",
        recurrent_loss,
        network(4, 128, 256, 256, 256),
        program="lstm/flax-l2-h256-b4-s128/train-adam",
    ),
    Case(
        ("sink-accumulation", "sink-projection", "hoist-projection"),
        "gradient, 128 steps, batch 4, 256 inputs, 256 states",
        recurrent_loss,
        network(4, 128, 256, 256, 256),
        program="lstm/flax-l2-h256-b4-s128/train-adam",
    ),
    Case(
        ("hoist-iterations",),
        "200 steps of 64 random numbers",
        random_walk,
        (KEY, floats(64)),
        program="mcmc/random-walk/n2048-t500",
    ),
    Case(
        ("unroll-loop:whole",),
        "256x1024 random numbers",
        variates,
        (KEY,),
        program="sampling/gibbs/n2048-t50",
    ),
    Case(
        ("unroll-loop:8",),
        "gates, 128 steps, batch 8, 256 inputs, 256 states",
        gated,
        (floats(512, 768), floats(128, 8, 256), floats(8, 256)),
        program="gru/haiku-h256-b8-s128/forward",
    ),
    Case(
        ("unroll-loop:4",),
        "gates, 128 steps, batch 8, 256 inputs, 256 states",
        gated,
        (floats(512, 768), floats(128, 8, 256), floats(8, 256)),
        program="gru/haiku-h256-b8-s128/forward",
    ),
    Case(
        ("slice-of-dynamic-slice",),
        "gates, 128 steps, batch 16, 128 states",
        memory,
        (floats(128, 512), floats(128, 16, 512), (floats(16, 128), floats(16, 128))),
    ),
    Case(
        ("slice-of-dynamic-slice",),
        "gates, 512 steps, batch 4, 32 states",
        memory,
        (floats(32, 128), floats(512, 4, 128), (floats(4, 32), floats(4, 32))),
    ),
    Case(
        ("unroll-loop:4",),
        "2000 steps on 16 numbers",
        small_system,
        (floats(16, 16), floats(16)),
        pays=False,
    ),
)
