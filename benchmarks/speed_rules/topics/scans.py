"""Rules about cumulative sums and products."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.case import Case, Cases, Programs, Refused, f32, lowered


def cumulative_sums(values: jax.Array) -> Any:
    """Returns the sums along the last dimension."""
    return jnp.cumsum(values, axis=-1)


def paths(moves: jax.Array) -> Any:
    """Returns prices from their moves over time, the first dimension."""
    return jnp.exp(jnp.cumsum(moves, axis=0))


def running_maximum(values: jax.Array) -> Any:
    """Returns the largest values until each time."""
    return jax.lax.cummax(values, axis=0)


CASES: Cases = {
    "cumulative-sum-in-blocks": [
        Case("16x8192", cumulative_sums, (f32(16, 8192),), "cumulative-sum/rows/b16-n8192"),
        Case("64x1024", cumulative_sums, (f32(64, 1024),)),
        Case("4096x64", cumulative_sums, (f32(4096, 64),), "nerf/flax-w128-l6-r512-s32/forward"),
    ],
    "cumulative-in-blocks": [
        Case("512x1024, maximum over the first dimension", running_maximum, (f32(512, 1024),)),
        Case(
            "16x8192, products", lambda x: jnp.cumprod(jnp.cos(x * 0.01), axis=-1), (f32(16, 8192),)
        ),
    ],
    "cumulative-by-loop": [
        Case("16x8192", cumulative_sums, (f32(16, 8192),)),
        Case(
            "32x8192, over the first dimension",
            paths,
            (f32(32, 8192),),
            "sampling/american-option/p8192-t32",
        ),
        Case("512x1024, maximum over the first dimension", running_maximum, (f32(512, 1024),)),
        Case("4096x64", cumulative_sums, (f32(4096, 64),)),
    ],
}


def _of(function: Callable[..., Any], *shape: int, dtype: Any = jnp.float32) -> str:
    return lowered(function, jax.ShapeDtypeStruct(shape, dtype))


def cumulative(rng: Random, functions: tuple[Callable[..., Any], ...]) -> str:
    """Draws a cumulative operation along any dimension, from either end."""
    sizes = [rng.randint(1, 4) for _ in range(rng.randint(0, 2))]
    axis, reverse = rng.randint(0, len(sizes)), rng.random() < 0.5
    sizes.insert(axis, rng.choice([8, 20, 128, 129, 200, 8200]))
    function = rng.choice(functions)
    dtype = rng.choice([jnp.float32, jnp.int32])
    values = jnp.sin if dtype == jnp.float32 else jnp.negative
    return _of(lambda x: function(values(x), axis=axis, reverse=reverse), *sizes, dtype=dtype)


SUMS = (jax.lax.cumsum,)
OTHERS = (jax.lax.cumprod, jax.lax.cummax, jax.lax.cummin)
ALL = (*SUMS, *OTHERS)


def _moving(x: Any) -> Any:
    return jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 4), (1, 1), "SAME")


PROGRAMS: Programs = {
    "cumulative-sum-in-blocks": lambda rng: cumulative(rng, SUMS),
    "cumulative-in-blocks": lambda rng: cumulative(rng, OTHERS),
    "cumulative-by-loop": lambda rng: cumulative(rng, ALL),
}

REFUSED: Refused = {
    "cumulative-sum-in-blocks": {
        "product": lambda: _of(jax.lax.cumprod, 32),
        "short windows": lambda: _of(_moving, 2, 32),
        "few elements": lambda: _of(jax.lax.cumsum, 7),
    },
    "cumulative-in-blocks": {"sum": lambda: _of(jax.lax.cumsum, 32)},
    "cumulative-by-loop": {
        "short windows": lambda: _of(_moving, 2, 32),
        "few elements": lambda: _of(jax.lax.cumsum, 4),
        "long sums": lambda: _of(jax.lax.cumsum, 32768),
    },
}
