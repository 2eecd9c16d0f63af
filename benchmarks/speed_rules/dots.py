"""Cases of small dots."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.case import Case, floats


def ode(state: jax.Array, matrix: jax.Array) -> jax.Array:
    """Returns a state after 200 steps of Runge and Kutta."""

    def slope(state: jax.Array) -> jax.Array:
        return jnp.tanh(matrix @ state) - 0.1 * state

    def step(state: jax.Array, _: None) -> Any:
        first = slope(state)
        second = slope(state + 0.005 * first)
        third = slope(state + 0.005 * second)
        fourth = slope(state + 0.01 * third)
        return state + 0.01 / 6 * (first + 2 * second + 2 * third + fourth), None

    return jax.lax.scan(step, state, length=200)[0]


def kalman(moves: jax.Array, noise: jax.Array, sights: jax.Array) -> jax.Array:
    """Returns filtered covariances and means of a Kalman filter with one sensor."""
    size = len(moves)
    moves = 0.9 * jnp.eye(size) + 0.01 * moves
    spread = jnp.eye(size) + 0.01 * noise @ noise.T

    def step(carry: Any, sight: jax.Array) -> Any:
        mean, covariance = carry
        mean, covariance = moves @ mean, moves @ covariance @ moves.T + spread
        gain = covariance[:, 0] / (covariance[0, 0] + 1.0)
        mean = mean + gain * (sight - mean[0])
        covariance = covariance - gain[:, None] * covariance[0]
        return (mean, covariance), mean

    return jax.lax.scan(step, (jnp.zeros(size), jnp.eye(size)), sights)[1]


def turned(matrices: jax.Array, points: jax.Array) -> jax.Array:
    """Returns points turned by a matrix each."""
    return jnp.einsum("bij,bj->bi", matrices, points)


def chained(first: jax.Array, second: jax.Array) -> jax.Array:
    """Returns products of pairs of small matrices."""
    return jnp.tanh(first @ second)


def lifted(points: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns a layer's features of points in space."""
    return jnp.tanh(points @ weights)


SUM, SLICES = ("small-dot-as-sum",), ("short-dot-as-slices",)

CASES: tuple[Case, ...] = (
    Case(
        SUM,
        "ODE of 16 numbers, 200 steps",
        ode,
        (floats(16), floats(16, 16)),
        program="ode/small-system/d16-t200",
    ),
    Case(SLICES, "ODE of 4 numbers, 200 steps", ode, (floats(4), floats(4, 4))),
    Case(
        SUM,
        "Kalman filter, 8x8, 512 steps",
        kalman,
        (floats(8, 8), floats(8, 8), floats(512)),
        program="kalman/scan/t512-d8",
    ),
    Case(SUM, "Kalman filter, 4x4, 512 steps", kalman, (floats(4, 4), floats(4, 4), floats(512))),
    Case(
        SLICES, "Kalman filter, 4x4, 512 steps", kalman, (floats(4, 4), floats(4, 4), floats(512))
    ),
    Case(SUM, "16 pairs of 4x4", chained, (floats(16, 4, 4), floats(16, 4, 4)), pays=False),
    Case(
        SLICES,
        "1024 pairs of 4x4",
        chained,
        (floats(1024, 4, 4), floats(1024, 4, 4)),
        program="kalman/associative/t512-d4",
    ),
    Case(SLICES, "65536x3, 3x32", lifted, (floats(65536, 3), floats(3, 32))),
    Case(SLICES, "64 pairs of 8x8", chained, (floats(64, 8, 8), floats(64, 8, 8)), pays=False),
    Case(SLICES, "256x4, 4x1024", jnp.matmul, (floats(256, 4), floats(4, 1024))),
    Case(
        SLICES,
        "16384 matrices of 3x3, vectors",
        turned,
        (floats(16384, 3, 3), floats(16384, 3)),
        pays=False,
    ),
)
