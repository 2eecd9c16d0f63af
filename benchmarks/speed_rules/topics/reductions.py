"""Rules about reductions."""

from __future__ import annotations

from collections.abc import Callable
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


CASES: Cases = {
    "short-reduction-as-sum": [
        Case(
            "squared distances of 512 points in space",
            _squares,
            (f32(512, 3),),
            "n-body/flock/n384-t30",
        ),
        Case(
            "sum of 9 of 192x192",
            lambda parts: parts.sum(axis=0),
            (f32(9, 192, 192),),
            "lattice/boltzmann/n192-t30",
        ),
        Case(
            "squared norms of 512x512x3",
            lambda apart: jnp.sum(apart * apart, axis=-1),
            (f32(512, 512, 3),),
            "molecular-dynamics/lennard-jones/force-n512",
        ),
        Case(
            "Gaussian kernel of 768 points in 8 dimensions",
            _kernel,
            (f32(768, 8), f32(768, 4)),
            "pairwise-distance/kernel/n768-d8",
        ),
        Case(
            "forces of 512 points in space",
            _forces,
            (f32(512, 3),),
            "n-body/forces/n512",
            pays=False,
        ),
    ],
    "narrow-reduction-by-slices": [
        Case(
            "pushes of 512 points in space",
            _pressures,
            (f32(512, 3), f32(512, 512)),
            "n-body/smoothed-fluid/n512-t10",
        ),
        Case("sums of 512 of 512x3", lambda x: x.sum(axis=0), (f32(512, 512, 3),), pays=False),
    ],
    "short-reduction-as-sum + narrow-reduction-by-slices + power-as-roots": [
        Case("forces of 512 points in space", _forces, (f32(512, 3),), "n-body/forces/n512")
    ],
    "major-sum-as-dot": [
        Case(
            "sum of 64 of 128x128",
            lambda x: x.sum(axis=0),
            (f32(64, 128, 128),),
            "reduction/major/n64-d128",
        ),
        Case(
            "sum of 8 gradients of 512x512",
            lambda x: x.sum(axis=0),
            (f32(8, 512, 512),),
            "cnn/flax-w32x64x128-b8-64px/per-example-grad",
        ),
        Case(
            "sum of squares of 512 of 16384",
            lambda x: jnp.sum(x * x, axis=0),
            (f32(512, 16384),),
            "loss/hardest/n512-d32",
            pays=False,
        ),
    ],
    "major-reduction-by-halves": [
        Case(
            "weighted sum of 49 of 192x192",
            lambda weights, x: jnp.sum(weights * x, axis=0) / jnp.sum(weights, axis=0),
            (f32(49, 192, 192), f32(49, 192, 192)),
            "image-processing/bilateral/n192",
        ),
        Case("largest of 64 of 65536", lambda x: x.max(axis=0), (f32(64, 65536),)),
        Case("largest of 64 of 4096", lambda x: x.max(axis=0), (f32(64, 4096),), pays=False),
    ],
}


_KINDS = ("float32", "int32")


def short_reductions(rng: Random) -> str:
    """Draws reductions of few elements, along any dimension."""
    reduce: Callable[..., Any] = rng.choice([jnp.sum, jnp.max, jnp.min, jnp.prod])
    sizes = [rng.randint(8, 12), rng.randint(8, 12)]
    axis = rng.randint(0, 2)
    sizes.insert(axis, rng.randint(2, 16))
    kind = rng.choice(_KINDS)
    return lowered(lambda x: reduce(x, axis=axis), array(*sizes, dtype=kind))


def narrow_reductions(rng: Random) -> str:
    """Draws reductions that leave a minor dimension of few elements."""
    reduce: Callable[..., Any] = rng.choice([jnp.sum, jnp.max, jnp.min])
    sizes = [rng.randint(16, 20), rng.randint(32, 36), rng.randint(2, 4)]
    axis = rng.choice([0, 1, (0, 1)])
    kind = rng.choice(_KINDS)
    return lowered(lambda x: reduce(x, axis=axis), array(*sizes, dtype=kind))


def major_sums(rng: Random) -> str:
    """Draws sums over one or two major dimensions."""
    sizes = rng.choice([(2, 1024), (7, 33, 40), (3, 5, 1030), (4, 1, 64, 16)])
    kind = rng.choice(["float32", "float64"])
    axes = (0, 1) if sizes == (3, 5, 1030) else (0,)
    return lowered(lambda x: jnp.sum(x, axis=axes), array(*sizes, dtype=kind))


def major_reductions(rng: Random) -> str:
    """Draws reductions over one or two major dimensions."""
    reduce: Callable[..., Any] = rng.choice([jnp.sum, jnp.max, jnp.min])
    axes, sizes = rng.choice(
        [((0,), (8, 1024)), ((0,), (31, 33, 40)), ((0, 1), (3, 7, 1030)), ((0,), (23, 1025))]
    )
    kind = rng.choice(_KINDS)
    return lowered(lambda x: reduce(x, axis=axes), array(*sizes, dtype=kind))


PROGRAMS: Programs = {
    "major-sum-as-dot": major_sums,
    "major-reduction-by-halves": major_reductions,
    "narrow-reduction-by-slices": narrow_reductions,
    "short-reduction-as-sum": short_reductions,
}

REFUSED: Refused = {
    "major-sum-as-dot": {
        "a sum over the minor dimension": program(lambda x: jnp.sum(x, axis=1), f32(1024, 32)),
        "a narrow sum": program(lambda x: jnp.sum(x, axis=0), f32(1024, 32)),
        "a sum of integers": program(lambda x: jnp.sum(x, axis=0), s32(32, 1024)),
        "a maximum": program(lambda x: jnp.max(x, axis=0), f32(32, 1024)),
    },
    "major-reduction-by-halves": {
        "a dimension in the middle": program(lambda x: jnp.max(x, axis=1), f32(2, 32, 1024)),
        "few rows": program(lambda x: jnp.max(x, axis=0), f32(7, 1024)),
        "a mean of booleans": program(lambda x: jnp.any(x, axis=0), array(32, 1024, dtype="bool")),
    },
    "short-reduction-as-sum": {
        "a dimension of many elements": program(lambda x: jnp.sum(x, axis=1), f32(64, 17)),
        "few results": program(lambda x: jnp.sum(x, axis=1), f32(16, 3)),
        "two dimensions": program(lambda x: jnp.sum(x, axis=(1, 2)), f32(64, 2, 2)),
        "an index too": program(lambda x: jnp.argmax(x, axis=1), f32(64, 3)),
    },
    "narrow-reduction-by-slices": {
        "a wide minor dimension": program(lambda x: jnp.sum(x, axis=0), f32(512, 8)),
        "a reduced minor dimension": program(lambda x: jnp.sum(x, axis=1), f32(512, 3)),
    },
}
