"""Rules about distances."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program


def squared(points: jax.Array, centres: jax.Array) -> jax.Array:
    """Returns squared distances by broadcast, points by centres."""
    return jnp.sum((points[:, None] - centres[None]) ** 2, axis=-1)


def lloyd(points: jax.Array, centres: jax.Array) -> jax.Array:
    """Returns the centres after ten rounds of k-means."""

    def update(_: int, centres: jax.Array) -> jax.Array:
        labels = jnp.argmin(squared(points, centres), axis=1)
        members = jax.nn.one_hot(labels, len(centres))
        counts = members.sum(axis=0)[:, None]
        return jnp.where(counts > 0, members.T @ points / jnp.maximum(counts, 1), centres)

    return lax.fori_loop(0, 10, update, centres)


def densities(points: jax.Array, means: jax.Array, variances: jax.Array) -> jax.Array:
    """Returns log densities of normal distributions with diagonal covariances."""
    variances = jnp.abs(variances) + 1
    apart = (points[:, None] - means) ** 2 / variances
    return -0.5 * jnp.sum(apart + jnp.log(variances), axis=-1)


def kernel_gradient(points: jax.Array, centres: jax.Array) -> Any:
    """Returns the gradients of a sum of Gaussian kernels of all pairs."""

    def total(points: jax.Array, centres: jax.Array) -> jax.Array:
        return jnp.sum(jnp.exp(-0.1 * squared(points, centres)))

    return jax.grad(total, (0, 1))(points, centres)


def forces(positions: jax.Array) -> jax.Array:
    """Returns pairwise forces of unit charges."""
    apart = positions[:, None] - positions[None]
    squares = jnp.sum(apart**2, axis=-1, keepdims=True) + 1e-2
    return jnp.sum(apart / squares**1.5, axis=1)


def kernel_product(points: jax.Array, values: jax.Array, length: jax.Array) -> jax.Array:
    """Returns a Gaussian kernel of points times values."""
    apart = (points[:, None] - points[None]) / (0.5 + length)
    return jnp.exp(-0.5 * jnp.sum(apart**2, axis=-1)) @ values


def outer(x: jax.Array, c: jax.Array) -> jax.Array:
    """Returns squared distances with the shared dimension first."""
    return jnp.sum((x.T[:, :, None] - c.T[:, None]) ** 2, axis=0)


def batched(x: jax.Array, c: jax.Array) -> jax.Array:
    return jax.vmap(squared)(jnp.stack([x, 2 * x]), jnp.stack([c, c + 1]))


def spread(x: jax.Array, c: jax.Array) -> jax.Array:
    return densities(x, c, c)


def with_itself(x: jax.Array, _: jax.Array) -> jax.Array:
    return squared(x, x)


def scaled(x: jax.Array, c: jax.Array) -> jax.Array:
    return jnp.sum(((x[:, None] - c + 0.5) / (1 + c[0, 0] ** 2)) ** 2, axis=-1)


def of_shifted(x: jax.Array, c: jax.Array) -> jax.Array:
    """Returns squared distances of points that are far from zero."""
    return squared(x + 30, c + 30)


def own_gradient(x: jax.Array, _: jax.Array) -> jax.Array:
    return jax.grad(lambda x: jnp.sqrt(squared(x, x) + 0.01).sum())(x)


def own_forces(x: jax.Array, _: jax.Array) -> jax.Array:
    return forces(x)


def waves(x: jax.Array, c: jax.Array) -> jax.Array:
    return jnp.sum(jnp.where(x[:, None] > c, jnp.sin(x[:, None] - c), 0.1), axis=-1)


def farthest(x: jax.Array, c: jax.Array) -> Any:
    apart = x[:, None] - c[None]
    return jnp.max(apart, axis=-1), jnp.min(jnp.abs(apart), axis=-1)


def pairs(rng: Random, functions: list[Callable[..., Any]], least: int, most: int) -> str:
    """Draws a function of two arrays of rows of one width."""
    function, width = rng.choice(functions), rng.randint(least, most)
    dtype = rng.choice([jnp.float32, jnp.float64])
    x = array(rng.randint(4, 7), width, dtype=dtype)
    c = array(rng.randint(4, 6), width, dtype=dtype)
    return lowered(function, x, c)


PROGRAMS: Programs = {
    "distances-by-dot": lambda rng: pairs(
        rng, [squared, outer, batched, with_itself, scaled, of_shifted], 4, 9
    ),
    "differences-by-dot": lambda rng: pairs(
        rng, [spread, kernel_gradient, own_gradient, own_forces], 4, 9
    ),
    "short-sum-as-slices": lambda rng: pairs(
        rng, [squared, outer, batched, with_itself, waves, farthest], 2, 8
    ),
}


REFUSED: Refused = {
    "distances-by-dot": {
        "short rows": program(squared, "6x3 4x3"),
        "half precision": program(squared, "f16:6x8 f16:4x8"),
        "differences of absolute values": program(
            lambda x, c: jnp.sum(jnp.abs(x[:, None] - c) ** 2, axis=-1), "6x5 4x5"
        ),
        "greatest square": program(lambda x, c: jnp.max((x[:, None] - c) ** 2, axis=-1), "6x5 4x5"),
        "square of a difference of whole arrays": program(
            lambda x, c: jnp.sum((x - c) ** 2, axis=-1), "6x5x4 6x5x4"
        ),
    },
    "differences-by-dot": {
        "weights of all dimensions": program(
            lambda g, x, c: jnp.sum(g * (x[:, None] - c), axis=1),
            "6x4x5 6x5 4x5",
        ),
        "sum without products": program(lambda x, c: jnp.sum(x[:, None] - c, axis=-1), "6x5 4x5"),
        "sum of products": program(lambda x, c: jnp.sum(x[:, None] * c[None], axis=-1), "6x5 4x5"),
    },
    "short-sum-as-slices": {
        "long sum": program(squared, "6x17 4x17"),
        "sum over one array": program(lambda x: jnp.sum(x**2, axis=-1), "6x3"),
    },
}
