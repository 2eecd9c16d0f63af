"""Rules about elementwise work."""

from __future__ import annotations

from random import Random

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


CASES: Cases = {
    "power-as-roots": [
        Case(
            "weights over distances cubed, 64x2048",
            _pull,
            (f32(2048), f32(64, 2048)),
            "n-body/blocked/n2048",
        ),
        Case("x^-0.25, 1024x1024", lambda x: (x * x + 0.1) ** -0.25, (f32(1024, 1024),)),
        Case("x^1.5, 64", lambda x: (x * x) ** 1.5, (f32(64),), pays=False),
    ],
    "sine-of-sum": [
        Case(
            "sines of differences of 512 angles",
            _coupled,
            (f32(512),),
            "ode/heun-oscillators/t200-n128",
        ),
        Case("sines of differences of 8 angles", _coupled, (f32(8),), pays=False),
    ],
    "sine-by-polynomial": [
        Case(
            "sines and cosines of 512x32x3 coordinates at 5 frequencies",
            _waves,
            (f32(512, 32, 3),),
            "nerf/flax-w128-l6-r512-s32/forward",
        ),
        Case(
            "sines of 512 angles",
            jnp.sin,
            (f32(512),),
            "ode/leapfrog-pendulum/b512-t500",
            pays=False,
        ),
    ],
    "remainder-by-subtraction": [
        Case(
            "displacements of 512 points in a periodic box",
            _displacement,
            (f32(512, 3), f32()),
            "molecular-dynamics/lennard-jones/force-n512",
        ),
        Case("remainders of 512 numbers", lambda x: jnp.mod(x, 8.0), (f32(512),), pays=False),
    ],
    "arctangent-by-polynomial": [
        Case(
            "directions of slopes, 4x256x256",
            _sector,
            (f32(4, 256, 256), f32(4, 256, 256)),
            "image-processing/edges/b4-n256",
        ),
        Case("directions of 512 slopes", _sector, (f32(512), f32(512)), pays=False),
    ],
}


def powers(rng: Random) -> str:
    """Draws powers of positive numbers."""
    # JAX writes a constant of one element as an array, which the rule does not take for a scalar.
    sizes = [rng.randint(2, 9) for _ in range(rng.randint(0, 3))]
    exponent = rng.choice([-2.5, -1.5, -0.75, -0.5, -0.25, 0.25, 0.75, 1.5, 3.5])
    return lowered(lambda x: (x * x + 0.1) ** exponent, f32(*sizes))


def sines_of_sums(rng: Random) -> str:
    """Draws sines or cosines of all sums or differences of two sets of angles."""
    function = rng.choice([jnp.sin, jnp.cos])
    sign = rng.choice([-1, 1])
    first, second = rng.randint(4, 9), rng.randint(4, 9)

    def of_sums(x: jax.Array, y: jax.Array) -> jax.Array:
        return function(x[:, None] + y if sign > 0 else x[:, None] - y)

    return lowered(of_sums, f32(first), f32(second))


def sines(rng: Random) -> str:
    """Draws sines or cosines of small and of large angles."""
    function = rng.choice([jnp.sin, jnp.cos])
    sizes = rng.choice([(512,), (600,), (32, 17), (8, 8, 9)])
    scale = rng.choice([1.0, 100.0, 1e6])
    return lowered(lambda x: function(scale * x), f32(*sizes))


def remainders(rng: Random) -> str:
    """Draws remainders of divisors of each element, or of one."""
    sizes = rng.choice([(512,), (600,), (32, 17), (8, 8, 9)])
    kind = rng.choice(["float32", "float64"])
    least = rng.choice([0.01, 10.0])
    x, y = array(*sizes, dtype=kind), array(*(sizes if rng.random() < 0.5 else ()), dtype=kind)
    return lowered(lambda x, y: jax.lax.rem(x, jnp.broadcast_to(least + y * y, x.shape)), x, y)


def angles(rng: Random) -> str:
    """Draws angles of points."""
    sizes = rng.choice([(512,), (600,), (32, 17), (8, 8, 9)])
    return lowered(lambda x, y: 0.5 * jnp.arctan2(x, y), f32(*sizes), f32(*sizes))


_ROWS = f32(16, 16)


PROGRAMS: Programs = {
    "sine-by-polynomial": sines,
    "remainder-by-subtraction": remainders,
    "arctangent-by-polynomial": angles,
    "power-as-roots": powers,
    "sine-of-sum": sines_of_sums,
}

REFUSED: Refused = {
    "power-as-roots": {
        "an exponent that is no multiple of a quarter": program(lambda x: x**2.3, _ROWS),
        "an exponent that is an array": program(lambda x, y: x**y, _ROWS, _ROWS),
    },
    "sine-of-sum": {
        "an angle for each element": program(lambda x, y: jnp.sin(x + y), _ROWS, f32(16)),
        "a tangent": program(lambda x: jnp.tan(x[:, None] - x), f32(16)),
    },
    "sine-by-polynomial": {
        "sines of few elements": program(jnp.sin, f32(100)),
        "sines of half precision": program(jnp.sin, array(32, 32, dtype="bfloat16")),
    },
    "remainder-by-subtraction": {
        "remainders of few elements": program(jax.lax.rem, f32(100), f32(100)),
        "remainders of integers": program(jax.lax.rem, s32(32, 32), s32(32, 32)),
    },
    "arctangent-by-polynomial": {
        "angles of few points": program(jnp.arctan2, f32(100), f32(100)),
        "angles of half precision": program(
            jnp.arctan2, array(32, 32, dtype="bfloat16"), array(32, 32, dtype="bfloat16")
        ),
    },
}
