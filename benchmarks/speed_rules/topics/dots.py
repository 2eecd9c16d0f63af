"""Rules about small dots."""

from __future__ import annotations

from random import Random
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.case import (
    Case,
    Cases,
    Programs,
    Refused,
    array,
    f32,
    lowered,
    program,
    s32,
)


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


CASES: Cases = {
    "small-dot-as-sum": [
        Case(
            "ODE of 16 numbers, 200 steps", ode, (f32(16), f32(16, 16)), "ode/small-system/d16-t200"
        ),
        Case(
            "Kalman filter, 8x8, 512 steps",
            kalman,
            (f32(8, 8), f32(8, 8), f32(512)),
            "kalman/scan/t512-d8",
        ),
        Case("Kalman filter, 4x4, 512 steps", kalman, (f32(4, 4), f32(4, 4), f32(512))),
        Case("16 pairs of 4x4", chained, (f32(16, 4, 4), f32(16, 4, 4)), pays=False),
    ],
    "short-dot-as-slices": [
        Case("ODE of 4 numbers, 200 steps", ode, (f32(4), f32(4, 4))),
        Case("Kalman filter, 4x4, 512 steps", kalman, (f32(4, 4), f32(4, 4), f32(512))),
        Case(
            "1024 pairs of 4x4",
            chained,
            (f32(1024, 4, 4), f32(1024, 4, 4)),
            "kalman/associative/t512-d4",
        ),
        Case("65536x3, 3x32", lifted, (f32(65536, 3), f32(3, 32))),
        Case("64 pairs of 8x8", chained, (f32(64, 8, 8), f32(64, 8, 8)), pays=False),
        Case("256x4, 4x1024", jnp.matmul, (f32(256, 4), f32(4, 1024))),
        Case(
            "16384 matrices of 3x3, vectors", turned, (f32(16384, 3, 3), f32(16384, 3)), pays=False
        ),
    ],
}


EQUATIONS = ("ij,j->i", "j,ij->i", "j,j->", "ij,jk->ik", "ji,kj->ik", "bij,bjk->bik", "bij,bj->bi")
"""Products of arrays with one dimension to sum over, j."""

WIDE = (*EQUATIONS, "ijl,jlk->ik", "bjl,bljk->bk", "bijl,jkl->bik")


def products(rng: Random, equations: tuple[str, ...]) -> str:
    """Draws a small product."""
    equation = rng.choice(equations)
    dtype = rng.choice([jnp.float32, jnp.float64])
    sizes = {letter: rng.randint(1, 5) for letter in "bijkl"}
    operands = [
        array(*(sizes[letter] for letter in letters), dtype=dtype)
        for letters in equation.split("->")[0].split(",")
    ]
    return lowered(lambda x, y: jnp.einsum(equation, x, y), *operands)


PROGRAMS: Programs = {
    "small-dot-as-sum": lambda rng: products(rng, WIDE),
    "short-dot-as-slices": lambda rng: products(rng, EQUATIONS),
}

REFUSED: Refused = {
    "small-dot-as-sum": {
        "large dot": program(jnp.matmul, f32(96, 256), f32(256, 96)),
        "small dot of half precision": program(
            jnp.matmul, array(4, 4, dtype=jnp.float16), array(4, 4, dtype=jnp.float16)
        ),
    },
    "short-dot-as-slices": {
        "long dot": program(jnp.matmul, f32(4, 9), f32(9, 4)),
        "short dot of integers": program(jnp.matmul, s32(4, 4), s32(4, 4)),
    },
}
