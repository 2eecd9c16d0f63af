"""Cases of distances."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.case import Case, floats


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


SLICES = ("short-sum-as-slices",)


SQUARES, DIFFERENCES = ("distances-by-dot",), ("differences-by-dot",)

CASES: tuple[Case, ...] = (
    Case(
        SQUARES,
        "4096x32, width 16",
        squared,
        (floats(4096, 16), floats(32, 16)),
        program="pairwise-distance/broadcast/n4096-k32-d16",
    ),
    Case(SLICES, "4096x32, width 16", squared, (floats(4096, 16), floats(32, 16))),
    Case(SQUARES, "2048x2048, width 64", squared, (floats(2048, 64), floats(2048, 64))),
    Case(
        SQUARES,
        "k-means of ten rounds, 4096x32, width 16",
        lloyd,
        (floats(4096, 16), floats(32, 16)),
        program="k-means/lloyd/n4096-k32-d16",
    ),
    Case(
        (*SQUARES, "one-hot-as-scatter"),
        "k-means of ten rounds, 4096x32, width 16",
        lloyd,
        (floats(4096, 16), floats(32, 16)),
        program="k-means/lloyd/n4096-k32-d16",
    ),
    Case(
        DIFFERENCES,
        "4096x32, width 16, log densities",
        densities,
        (floats(4096, 16), floats(32, 16), floats(32, 16)),
    ),
    Case(
        (*SQUARES, *DIFFERENCES),
        "1024x256, width 32, gradients",
        kernel_gradient,
        (floats(1024, 32), floats(256, 32)),
    ),
    Case(DIFFERENCES, "512x512, width 3, forces", forces, (floats(512, 3),)),
    Case(SLICES, "2048x2048, width 3", squared, (floats(2048, 3), floats(2048, 3))),
    Case(SLICES, "512x512, width 3, forces", forces, (floats(512, 3),)),
    Case(
        (*DIFFERENCES, *SLICES),
        "512x512, width 3, forces",
        forces,
        (floats(512, 3),),
        program="n-body/forces/n512",
    ),
    Case(
        SLICES,
        "768x768, width 8, kernel",
        kernel_product,
        (floats(768, 8), floats(768, 16), floats()),
        program="pairwise-distance/kernel/n768-d8",
    ),
    Case(
        SQUARES,
        "768x768, width 8, kernel",
        kernel_product,
        (floats(768, 8), floats(768, 16), floats()),
        program="pairwise-distance/kernel/n768-d8",
    ),
)
