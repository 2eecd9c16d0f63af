"""Cases of elementwise work."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.case import Case, floats


def _pull(weights: jax.Array, squares: jax.Array) -> jax.Array:
    return weights / (squares * squares + 0.01) ** 1.5


def _coupled(phases: jax.Array) -> jax.Array:
    return jnp.mean(jnp.sin(phases[None] - phases[:, None]), axis=1)


def _waves(points: jax.Array) -> jax.Array:
    angles = points[..., None, :] * 2.0 ** jnp.arange(5)[:, None]
    angles = angles.reshape(*points.shape[:-1], -1)
    return jnp.concatenate([points, jnp.sin(angles), jnp.cos(angles)], axis=-1)


def _displacement(places: jax.Array, side: jax.Array) -> jax.Array:
    apart = jnp.tanh(places)[:, None] - jnp.tanh(places)[None]
    side = 2.0 + side * side
    return jnp.mod(apart + 0.5 * side, side) - 0.5 * side


def _sector(y: jax.Array, x: jax.Array) -> jax.Array:
    return jnp.round(jnp.arctan2(y, x) / (jnp.pi / 4)).astype(jnp.int32) % 4


CASES: tuple[Case, ...] = (
    Case(
        ("power-as-roots",),
        "weights over distances cubed, 64x2048",
        _pull,
        (floats(2048), floats(64, 2048)),
        program="n-body/blocked/n2048",
    ),
    Case(
        ("power-as-roots",),
        "x^-0.25, 1024x1024",
        lambda x: (x * x + 0.1) ** -0.25,
        (floats(1024, 1024),),
    ),
    Case(
        ("power-as-roots",),
        "x^1.5, 64",
        lambda x: (x * x) ** 1.5,
        (floats(64),),
        pays=False,
    ),
    Case(
        ("sine-of-sum",),
        "sines of differences of 512 angles",
        _coupled,
        (floats(512),),
        program="ode/heun-oscillators/t200-n128",
    ),
    Case(
        ("sine-of-sum",),
        "sines of differences of 8 angles",
        _coupled,
        (floats(8),),
        pays=False,
    ),
    Case(
        ("sine-by-polynomial",),
        "sines and cosines of 512x32x3 coordinates at 5 frequencies",
        _waves,
        (floats(512, 32, 3),),
        program="nerf/flax-w128-l6-r512-s32/forward",
    ),
    Case(
        ("sine-by-polynomial",),
        "sines of 512 angles",
        jnp.sin,
        (floats(512),),
        program="ode/leapfrog-pendulum/b512-t500",
        pays=False,
    ),
    Case(
        ("remainder-by-subtraction",),
        "displacements of 512 points in a periodic box",
        _displacement,
        (floats(512, 3), floats()),
        program="molecular-dynamics/lennard-jones/force-n512",
    ),
    Case(
        ("remainder-by-subtraction",),
        "remainders of 512 numbers",
        lambda x: jnp.mod(x, 8.0),
        (floats(512),),
        pays=False,
    ),
    Case(
        ("arctangent-by-polynomial",),
        "directions of slopes, 4x256x256",
        _sector,
        (floats(4, 256, 256), floats(4, 256, 256)),
        program="image-processing/edges/b4-n256",
    ),
    Case(
        ("arctangent-by-polynomial",),
        "directions of 512 slopes",
        _sector,
        (floats(512), floats(512)),
        pays=False,
    ),
)
