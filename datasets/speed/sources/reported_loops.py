"""Loops and reductions that are reported to be slow in XLA:CPU."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from recipe import Recipe, array
from speed.programs import Program, program_recipes

LIBRARY = "jax"


def small_system(steps: int) -> Callable[..., Any]:
    """Returns the solution of an equation by some steps of Runge and Kutta in a scan."""

    def solve(state: jax.Array, weights: jax.Array) -> Any:
        def field(state: jax.Array) -> jax.Array:
            return jnp.tanh(weights @ state) - 0.1 * state

        def step(state: jax.Array, _: None) -> Any:
            first = field(state)
            second = field(state + 0.005 * first)
            third = field(state + 0.005 * second)
            fourth = field(state + 0.01 * third)
            return state + 0.01 / 6 * (first + 2 * second + 2 * third + fourth), state[0]

        return jax.lax.scan(step, state, length=steps)

    return solve


def small_systems(states: jax.Array, weights: jax.Array) -> jax.Array:
    """Solves equations with different coefficients side by side, 200 steps of Heun's method."""

    def solve(state: jax.Array, weights: jax.Array) -> jax.Array:
        def step(_: int, state: jax.Array) -> jax.Array:
            first = jnp.sin(weights @ state)
            second = jnp.sin(weights @ (state + 0.02 * first))
            return state + 0.01 * (first + second)

        return jax.lax.fori_loop(0, 200, step, state)

    return jax.vmap(solve)(states, weights)


def double_pendulum(state: jax.Array, lengths: jax.Array) -> Any:
    """Moves a double pendulum for 20,000 steps of scalars."""
    first, second = 0.5 + jax.nn.sigmoid(lengths[0]), 0.5 + jax.nn.sigmoid(lengths[1])

    def field(state: tuple[Any, ...]) -> tuple[Any, ...]:
        a, b, u, v = state
        sine, cosine = jnp.sin(a - b), jnp.cos(a - b)
        below = 2.0 - cosine**2
        pull = 9.8 * (jnp.sin(b) * cosine - 2 * jnp.sin(a))
        turn = (pull - sine * (first * u**2 * cosine + second * v**2)) / (first * below)
        swing = 2 * first * u**2 * sine + second * v**2 * sine * cosine
        swing = (swing + 2 * 9.8 * (jnp.sin(a) * cosine - jnp.sin(b))) / (second * below)
        return u, v, turn, swing

    def step(state: tuple[Any, ...], _: None) -> Any:
        middle = tuple(x + 0.0005 * dx for x, dx in zip(state, field(state), strict=True))
        state = tuple(x + 0.001 * dx for x, dx in zip(state, field(middle), strict=True))
        return state, state[0]

    return jax.lax.scan(step, tuple(state), length=20000)


def small_network(weights: Any, inputs: jax.Array, targets: jax.Array) -> Any:
    """Trains a tiny network for 300 steps of Adam in a loop."""

    def loss(weights: Any) -> jax.Array:
        hidden = jnp.tanh(inputs @ weights["first"] + weights["bias"])
        return jnp.mean((hidden @ weights["second"] - targets) ** 2)

    def step(index: int, carry: Any) -> Any:
        weights, mean, square = carry
        slope = jax.grad(loss)(weights)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
        square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g**2, square, slope)
        size = 1e-2 * jnp.sqrt(1 - 0.999 ** (index + 1.0)) / (1 - 0.9 ** (index + 1.0))
        weights = jax.tree.map(
            lambda w, m, s: w - size * m / (jnp.sqrt(s) + 1e-8), weights, mean, square
        )
        return weights, mean, square

    zeros = jax.tree.map(jnp.zeros_like, weights)
    return jax.lax.fori_loop(0, 300, step, (weights, zeros, zeros))[0]


def small_updates(table: jax.Array, places: jax.Array) -> jax.Array:
    """Writes rows of a table one after another, each from the one before."""

    def step(index: int, table: jax.Array) -> jax.Array:
        row = jnp.tanh(table[places[index]] + 0.5 * table[index])
        return jax.lax.dynamic_update_slice(table, row[None], (index + 1, 0))

    return jax.lax.fori_loop(0, len(table) - 1, step, table)


def small_decisions(values: jax.Array, limits: jax.Array) -> Any:
    """Runs a queue of events with branches on scalars."""

    def step(carry: Any, value: jax.Array) -> Any:
        length, work = carry

        def serve(pair: Any) -> Any:
            return pair[0] * 0.5, pair[1] + pair[0]

        def wait(pair: Any) -> Any:
            return pair[0] + jnp.abs(value), pair[1] * 0.99

        pair = jax.lax.cond(length > limits[0], serve, wait, (length, work))
        return pair, pair[1]

    return jax.lax.scan(step, (jnp.zeros(()), jnp.zeros(())), values)


def sphere_tracing(rays: jax.Array, spheres: jax.Array) -> jax.Array:
    """Walks along rays for 40 steps of the distance to the nearest of some spheres."""
    direction = rays / jnp.linalg.norm(rays, axis=1, keepdims=True)

    def distance(places: jax.Array) -> jax.Array:
        apart = places[:, None] - (spheres + jnp.array([0.0, 0.0, 4.0]))
        return jnp.min(jnp.linalg.norm(apart + 1e-6, axis=-1) - 0.5, axis=1)

    def step(_: int, depth: jax.Array) -> jax.Array:
        return jnp.clip(depth + distance(depth[:, None] * direction), 0.0, 20.0)

    return jax.lax.fori_loop(0, 40, step, jnp.zeros(len(rays)))


def column_sums(table: jax.Array) -> jax.Array:
    """Returns columns without their means, in units of their deviations: sums over rows."""
    centred = table - table.mean(axis=0)
    return centred * jax.lax.rsqrt(jnp.mean(centred**2, axis=0) + 1e-5)


def major_sums(stack: jax.Array) -> Any:
    """Returns means, variances and extremes over the first dimension."""
    mean = stack.mean(axis=0)
    return mean, jnp.mean((stack - mean) ** 2, axis=0), stack.max(axis=0), stack.min(axis=0)


def fused_sums(first: jax.Array, second: jax.Array) -> Any:
    """Returns correlations of rows: five sums of products of the same arrays."""
    both = jnp.sum(first * second, axis=1)
    one, two = jnp.sum(first**2, axis=1), jnp.sum(second**2, axis=1)
    mean_one, mean_two = first.mean(axis=1), second.mean(axis=1)
    size = first.shape[1]
    mixed = both / size - mean_one * mean_two
    spread = (one / size - mean_one**2) * (two / size - mean_two**2)
    return mixed * jax.lax.rsqrt(jnp.maximum(spread, 0.0) + 1e-6)


def batch_statistics(images: jax.Array, scale: jax.Array, bias: jax.Array) -> Any:
    """Returns images through batch normalisation, with its gradient for scale and bias."""

    def loss(scale: jax.Array, bias: jax.Array) -> jax.Array:
        mean = images.mean(axis=(0, 1, 2))
        spread = jnp.mean((images - mean) ** 2, axis=(0, 1, 2))
        y = scale * (images - mean) * jax.lax.rsqrt(spread + 1e-5) + bias
        return jnp.mean(jax.nn.relu(y) ** 2)

    return jax.value_and_grad(loss, (0, 1))(scale, bias)


def log_sums(scores: jax.Array) -> jax.Array:
    """Returns entropies of rows and of columns."""
    rows, columns = jax.nn.log_softmax(scores, 1), jax.nn.log_softmax(scores, 0)
    return -jnp.sum(jnp.exp(rows) * rows, 1).mean() - jnp.sum(jnp.exp(columns) * columns, 0).mean()


def recipes() -> Iterator[Recipe]:
    """Yields the loops and reductions."""
    small = array(16), array(16, 16)
    network = {"first": array(2, 8), "bias": array(8), "second": array(8, 1)}
    programs = (
        ("ode/small-system/d16-t200", small_system(200), small),
        ("ode/small-system/d16-t2000", small_system(2000), small),
        ("ode/small-systems/b32-d16-t200", small_systems, (array(32, 16), array(32, 16, 16))),
        ("ode/double-pendulum/t20000", double_pendulum, (array(4), array(2))),
        ("small-loop/network/n32-t300", small_network, (network, array(32, 2), array(32, 1))),
        (
            "small-loop/updates/n8192-d64",
            small_updates,
            (array(8192, 64), array(8192, dtype=jnp.int32)),
        ),
        ("small-loop/decisions/t65536", small_decisions, (array(65536), array(1))),
        ("small-loop/sphere-tracing/n4096", sphere_tracing, (array(4096, 3), array(12, 3))),
        ("reduction/columns/n8192-d256", column_sums, (array(8192, 256),)),
        ("reduction/major/n64-d128", major_sums, (array(64, 128, 128),)),
        ("reduction/fused/b512-n4096", fused_sums, (array(512, 4096), array(512, 4096))),
        (
            "reduction/batch-statistics/b8-n56-c64",
            batch_statistics,
            (array(8, 56, 56, 64), array(64), array(64)),
        ),
        ("reduction/log-sums/n1024", log_sums, (array(1024, 1024),)),
    )
    for name, function, arguments in programs:
        words = f"reported case: {name.split('/')[0]}, {name.split('/')[1]}"
        yield from program_recipes(LIBRARY, [Program(name, words, function, arguments)])
