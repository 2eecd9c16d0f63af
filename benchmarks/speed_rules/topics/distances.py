"""Rules about distances."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.case import Case, Cases, Programs, Refused, array, f32, lowered, program


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

    return jax.lax.fori_loop(0, 10, update, centres)


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


CASES: Cases = {
    "distances-by-dot": [
        Case(
            "4096x32, width 16",
            squared,
            (f32(4096, 16), f32(32, 16)),
            "pairwise-distance/broadcast/n4096-k32-d16",
        ),
        Case("2048x2048, width 64", squared, (f32(2048, 64), f32(2048, 64))),
        Case(
            "k-means of ten rounds, 4096x32, width 16",
            lloyd,
            (f32(4096, 16), f32(32, 16)),
            "k-means/lloyd/n4096-k32-d16",
        ),
        Case(
            "768x768, width 8, kernel",
            kernel_product,
            (f32(768, 8), f32(768, 16), f32()),
            "pairwise-distance/kernel/n768-d8",
        ),
    ],
    "short-sum-as-slices": [
        Case("4096x32, width 16", squared, (f32(4096, 16), f32(32, 16))),
        Case("2048x2048, width 3", squared, (f32(2048, 3), f32(2048, 3))),
        Case("512x512, width 3, forces", forces, (f32(512, 3),)),
        Case(
            "768x768, width 8, kernel",
            kernel_product,
            (f32(768, 8), f32(768, 16), f32()),
            "pairwise-distance/kernel/n768-d8",
        ),
    ],
    "distances-by-dot + one-hot-as-scatter": [
        Case(
            "k-means of ten rounds, 4096x32, width 16",
            lloyd,
            (f32(4096, 16), f32(32, 16)),
            "k-means/lloyd/n4096-k32-d16",
        )
    ],
    "differences-by-dot": [
        Case(
            "4096x32, width 16, log densities", densities, (f32(4096, 16), f32(32, 16), f32(32, 16))
        ),
        Case("512x512, width 3, forces", forces, (f32(512, 3),)),
    ],
    "distances-by-dot + differences-by-dot": [
        Case("1024x256, width 32, gradients", kernel_gradient, (f32(1024, 32), f32(256, 32)))
    ],
    "differences-by-dot + short-sum-as-slices": [
        Case("512x512, width 3, forces", forces, (f32(512, 3),), "n-body/forces/n512")
    ],
}


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


def _pair(
    function: Callable[..., Any], width: int = 5, dtype: Any = jnp.float32
) -> Callable[[], str]:
    return program(function, array(6, width, dtype=dtype), array(4, width, dtype=dtype))


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
        "short rows": _pair(squared, 3),
        "half precision": _pair(squared, 8, jnp.float16),
        "differences of absolute values": _pair(
            lambda x, c: jnp.sum(jnp.abs(x[:, None] - c) ** 2, axis=-1)
        ),
        "greatest square": _pair(lambda x, c: jnp.max((x[:, None] - c) ** 2, axis=-1)),
        "square of a difference of whole arrays": program(
            lambda x, c: jnp.sum((x - c) ** 2, axis=-1), f32(6, 5, 4), f32(6, 5, 4)
        ),
    },
    "differences-by-dot": {
        "weights of all dimensions": program(
            lambda g, x, c: jnp.sum(g * (x[:, None] - c), axis=1),
            f32(6, 4, 5),
            f32(6, 5),
            f32(4, 5),
        ),
        "sum without products": _pair(lambda x, c: jnp.sum(x[:, None] - c, axis=-1)),
        "sum of products": _pair(lambda x, c: jnp.sum(x[:, None] * c[None], axis=-1)),
    },
    "short-sum-as-slices": {
        "long sum": _pair(squared, 17),
        "sum over one array": program(lambda x: jnp.sum(x**2, axis=-1), f32(6, 3)),
    },
}
