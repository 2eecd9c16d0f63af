"""Cases of cumulative sums and products."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.case import Case, floats


def cumulative_sums(values: jax.Array) -> Any:
    """Returns the sums along the last dimension."""
    return jnp.cumsum(values, axis=-1)


def paths(moves: jax.Array) -> Any:
    """Returns prices from their moves over time, the first dimension."""
    return jnp.exp(jnp.cumsum(moves, axis=0))


def running_maximum(values: jax.Array) -> Any:
    """Returns the largest values until each time."""
    return jax.lax.cummax(values, axis=0)


CASES = (
    Case(
        ("cumulative-sum-in-blocks",),
        "16x8192",
        cumulative_sums,
        (floats(16, 8192),),
        program="cumulative-sum/rows/b16-n8192",
    ),
    Case(("cumulative-sum-in-blocks",), "64x1024", cumulative_sums, (floats(64, 1024),)),
    Case(
        ("cumulative-sum-in-blocks",),
        "4096x64",
        cumulative_sums,
        (floats(4096, 64),),
        program="nerf/flax-w128-l6-r512-s32/forward",
    ),
    Case(
        ("cumulative-in-blocks",),
        "512x1024, maximum over the first dimension",
        running_maximum,
        (floats(512, 1024),),
    ),
    Case(
        ("cumulative-in-blocks",),
        "16x8192, products",
        lambda x: jnp.cumprod(jnp.cos(x * 0.01), axis=-1),
        (floats(16, 8192),),
    ),
    Case(("cumulative-by-loop",), "16x8192", cumulative_sums, (floats(16, 8192),)),
    Case(
        ("cumulative-by-loop",),
        "32x8192, over the first dimension",
        paths,
        (floats(32, 8192),),
        program="sampling/american-option/p8192-t32",
    ),
    Case(
        ("cumulative-by-loop",),
        "512x1024, maximum over the first dimension",
        running_maximum,
        (floats(512, 1024),),
    ),
    Case(
        ("cumulative-by-loop",),
        "4096x64",
        cumulative_sums,
        (floats(4096, 64),),
    ),
)
