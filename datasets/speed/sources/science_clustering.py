"""Clustering: k-means in its forms, mixtures by expectation-maximisation, mean shift."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from recipe import Recipe, array, key
from speed.programs import Program, program_recipes

LIBRARY = "jax"


def squared_distances(points: jax.Array, centres: jax.Array) -> jax.Array:
    """Returns squared distances by broadcast, points by centres."""
    return jnp.sum((points[:, None] - centres[None]) ** 2, axis=-1)


def product_distances(points: jax.Array, centres: jax.Array) -> jax.Array:
    """Returns squared distances by a matrix product, points by centres."""
    lengths = jnp.sum(points**2, axis=1)[:, None] + jnp.sum(centres**2, axis=1)
    return lengths - 2 * points @ centres.T


def lloyd(points: jax.Array, centres: jax.Array) -> Any:
    """Runs Lloyd's algorithm for ten rounds, with one-hot sums."""

    def update(_: int, centres: jax.Array) -> jax.Array:
        labels = jnp.argmin(squared_distances(points, centres), axis=1)
        members = jax.nn.one_hot(labels, len(centres))
        counts = members.sum(axis=0)[:, None]
        return jnp.where(counts > 0, members.T @ points / jnp.maximum(counts, 1), centres)

    centres = jax.lax.fori_loop(0, 10, update, centres)
    return centres, squared_distances(points, centres).min(axis=1).mean()


def lloyd_segments(points: jax.Array, centres: jax.Array) -> Any:
    """Runs Lloyd's algorithm for ten rounds, with products and segment sums."""
    count = len(centres)

    def update(centres: jax.Array, _: None) -> Any:
        distances = product_distances(points, centres)
        labels = jnp.argmin(distances, axis=1)
        sums = jax.ops.segment_sum(points, labels, count)
        sizes = jax.ops.segment_sum(jnp.ones(len(points)), labels, count)
        moved = sums / jnp.maximum(sizes, 1)[:, None]
        return moved, jnp.min(distances, axis=1).sum()

    return jax.lax.scan(update, centres, length=10)


def mini_batches(points: jax.Array, centres: jax.Array, rng: jax.Array) -> Any:
    """Runs mini-batch k-means for 100 batches of 256 points that are drawn at random."""

    def update(carry: Any, rng: jax.Array) -> Any:
        centres, counts = carry
        batch = points[jax.random.randint(rng, (256,), 0, len(points))]
        labels = jnp.argmin(product_distances(batch, centres), axis=1)
        counts = counts.at[labels].add(1.0)
        rates = (1.0 / counts[labels])[:, None]
        centres = centres.at[labels].add(rates * (batch - centres[labels]))
        return (centres, counts), None

    start = (centres, jnp.ones(len(centres)))
    return jax.lax.scan(update, start, jax.random.split(rng, 100))[0][0]


def plus_plus(points: jax.Array, rng: jax.Array, count: int = 32) -> jax.Array:
    """Returns first centres by k-means++: far points are drawn with a higher probability."""

    def draw(carry: Any, rng: jax.Array) -> Any:
        nearest, last = carry
        nearest = jnp.minimum(nearest, jnp.sum((points - last) ** 2, axis=1))
        centre = points[jax.random.categorical(rng, jnp.log(nearest + 1e-9))]
        return (nearest, centre), centre

    start = (jnp.full(len(points), 1e6), points[0])
    return jax.lax.scan(draw, start, jax.random.split(rng, count))[1]


def soft_kmeans(points: jax.Array, centres: jax.Array, sharpness: jax.Array) -> jax.Array:
    """Runs soft k-means for ten rounds."""

    def update(_: int, centres: jax.Array) -> jax.Array:
        weights = jax.nn.softmax(-sharpness * product_distances(points, centres), axis=1)
        return weights.T @ points / weights.sum(axis=0)[:, None]

    return jax.lax.fori_loop(0, 10, update, centres)


def diagonal_mixture(points: jax.Array, means: jax.Array) -> Any:
    """Fits a mixture of diagonal Gaussians by ten rounds of expectation-maximisation."""
    count, width = means.shape

    def step(carry: Any, _: None) -> Any:
        means, variances, weights = carry
        apart = (points[:, None] - means) ** 2 / variances
        logs = -0.5 * jnp.sum(apart + jnp.log(variances), axis=-1) + jnp.log(weights)
        evidence = logsumexp(logs, axis=1, keepdims=True)
        shares = jnp.exp(logs - evidence)
        sizes = shares.sum(axis=0)[:, None] + 1e-6
        means = shares.T @ points / sizes
        variances = shares.T @ points**2 / sizes - means**2 + 1e-3
        return (means, variances, sizes[:, 0] / len(points)), evidence.mean()

    start = (means, jnp.ones((count, width)), jnp.full(count, 1 / count))
    return jax.lax.scan(step, start, length=10)


def full_mixture(points: jax.Array, means: jax.Array) -> Any:
    """Fits a mixture of Gaussians with full covariances, their densities by Cholesky factors."""
    count, width = means.shape

    def log_density(mean: jax.Array, covariance: jax.Array) -> jax.Array:
        factor = jnp.linalg.cholesky(covariance)
        white = jax.scipy.linalg.solve_triangular(factor, (points - mean).T, lower=True)
        return -0.5 * jnp.sum(white**2, axis=0) - jnp.sum(jnp.log(jnp.diagonal(factor)))

    def step(carry: Any, _: None) -> Any:
        means, covariances, weights = carry
        logs = jax.vmap(log_density)(means, covariances) + jnp.log(weights)[:, None]
        evidence = logsumexp(logs, axis=0)
        shares = jnp.exp(logs - evidence)
        sizes = shares.sum(axis=1) + 1e-6
        means = shares @ points / sizes[:, None]
        centred = points - means[:, None]
        covariances = jnp.einsum("kn,kni,knj->kij", shares, centred, centred)
        covariances = covariances / sizes[:, None, None] + 1e-3 * jnp.eye(width)
        return (means, covariances, sizes / len(points)), evidence.mean()

    start = (means, jnp.tile(jnp.eye(width), (count, 1, 1)), jnp.full(count, 1 / count))
    return jax.lax.scan(step, start, length=8)


def mean_shift(points: jax.Array, bandwidth: jax.Array) -> jax.Array:
    """Moves points uphill on the density of all of them, eight times."""

    def shift(_: int, moved: jax.Array) -> jax.Array:
        weights = jnp.exp(-squared_distances(moved, points) / (0.5 + bandwidth))
        return weights @ points / weights.sum(axis=1, keepdims=True)

    return jax.lax.fori_loop(0, 8, shift, points)


def recipes() -> Iterator[Recipe]:
    """Yields the clusterings."""
    scalar = array()
    yield from program_recipes(
        LIBRARY,
        [
            Program(
                "k-means/lloyd/n4096-k32-d16",
                "k-means, ten rounds, distances by broadcast, sums by one-hot products",
                lloyd,
                (array(4096, 16), array(32, 16)),
            ),
            Program(
                "k-means/lloyd-segments/n16384-k64-d8",
                "k-means, ten rounds, distances by products, segment sums",
                lloyd_segments,
                (array(16384, 8), array(64, 8)),
            ),
            Program(
                "k-means/mini-batch/n8192-k64-d32",
                "mini-batch k-means, 100 batches of 256",
                mini_batches,
                (array(8192, 32), array(64, 32), key()),
            ),
            Program(
                "k-means/plus-plus/n16384-k32-d16",
                "first centres of k-means++",
                plus_plus,
                (array(16384, 16), key()),
            ),
            Program(
                "k-means/soft/n8192-k64-d32",
                "soft k-means, ten rounds",
                soft_kmeans,
                (array(8192, 32), array(64, 32), scalar),
            ),
            Program(
                "clustering/mixture-diagonal/n8192-k16-d8",
                "mixture of diagonal Gaussians, ten rounds of expectation-maximisation",
                diagonal_mixture,
                (array(8192, 8), array(16, 8)),
            ),
            Program(
                "clustering/mixture-full/n2048-k8-d8",
                "mixture of Gaussians with full covariances, eight rounds",
                full_mixture,
                (array(2048, 8), array(8, 8)),
            ),
            Program(
                "clustering/mean-shift/n1024-d4",
                "mean shift of all points, eight rounds",
                mean_shift,
                (array(1024, 4), scalar),
            ),
        ],
    )
