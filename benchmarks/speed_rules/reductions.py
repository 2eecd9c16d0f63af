"""Cases of reductions."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.case import Case, floats


def _apart(points: jax.Array) -> jax.Array:
    return points[:, None] - points[None]


def _squares(points: jax.Array) -> jax.Array:
    return jnp.sum(_apart(points) ** 2, axis=-1)


def _kernel(points: jax.Array, values: jax.Array) -> jax.Array:
    return jnp.exp(-0.5 * _squares(points)) @ values


def _pressures(points: jax.Array, push: jax.Array) -> jax.Array:
    return jnp.sum(push[..., None] * _apart(points), axis=1)


def _forces(points: jax.Array) -> jax.Array:
    squares = jnp.sum(_apart(points) ** 2, axis=-1, keepdims=True) + 1e-2
    return jnp.sum(_apart(points) / squares**1.5, axis=1)


_APART = ("short-reduction-as-sum", "narrow-reduction-by-slices")
_ALL = (*_APART, "power-as-roots")

CASES: tuple[Case, ...] = (
    Case(
        ("short-reduction-as-sum",),
        "squared distances of 512 points in space",
        _squares,
        (floats(512, 3),),
        program="n-body/flock/n384-t30",
    ),
    Case(
        ("short-reduction-as-sum",),
        "sum of 9 of 192x192",
        lambda parts: parts.sum(axis=0),
        (floats(9, 192, 192),),
        program="lattice/boltzmann/n192-t30",
    ),
    Case(
        ("short-reduction-as-sum",),
        "squared norms of 512x512x3",
        lambda apart: jnp.sum(apart * apart, axis=-1),
        (floats(512, 512, 3),),
        program="molecular-dynamics/lennard-jones/force-n512",
    ),
    Case(
        ("short-reduction-as-sum",),
        "Gaussian kernel of 768 points in 8 dimensions",
        _kernel,
        (floats(768, 8), floats(768, 4)),
        program="pairwise-distance/kernel/n768-d8",
    ),
    Case(
        ("short-reduction-as-sum",),
        "forces of 512 points in space",
        _forces,
        (floats(512, 3),),
        program="n-body/forces/n512",
        pays=False,
    ),
    Case(
        ("narrow-reduction-by-slices",),
        "pushes of 512 points in space",
        _pressures,
        (floats(512, 3), floats(512, 512)),
        program="n-body/smoothed-fluid/n512-t10",
    ),
    Case(
        _ALL,
        "forces of 512 points in space",
        _forces,
        (floats(512, 3),),
        program="n-body/forces/n512",
    ),
    Case(
        ("narrow-reduction-by-slices",),
        "sums of 512 of 512x3",
        lambda x: x.sum(axis=0),
        (floats(512, 512, 3),),
        pays=False,
    ),
    Case(
        ("major-sum-as-dot",),
        "sum of 64 of 128x128",
        lambda x: x.sum(axis=0),
        (floats(64, 128, 128),),
        program="reduction/major/n64-d128",
    ),
    Case(
        ("major-sum-as-dot",),
        "sum of 8 gradients of 512x512",
        lambda x: x.sum(axis=0),
        (floats(8, 512, 512),),
        program="cnn/flax-w32x64x128-b8-64px/per-example-grad",
    ),
    Case(
        ("major-sum-as-dot",),
        "sum of squares of 512 of 16384",
        lambda x: jnp.sum(x * x, axis=0),
        (floats(512, 16384),),
        program="loss/hardest/n512-d32",
        pays=False,
    ),
    Case(
        ("major-reduction-by-halves",),
        "weighted sum of 49 of 192x192",
        lambda weights, x: jnp.sum(weights * x, axis=0) / jnp.sum(weights, axis=0),
        (floats(49, 192, 192), floats(49, 192, 192)),
        program="image-processing/bilateral/n192",
    ),
    Case(
        ("major-reduction-by-halves",),
        "largest of 64 of 65536",
        lambda x: x.max(axis=0),
        (floats(64, 65536),),
    ),
    Case(
        ("major-reduction-by-halves",),
        "largest of 64 of 4096",
        lambda x: x.max(axis=0),
        (floats(64, 4096),),
        pays=False,
    ),
)
