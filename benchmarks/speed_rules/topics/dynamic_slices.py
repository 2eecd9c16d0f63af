"""Rules about slices of what a dynamic slice reads."""

from __future__ import annotations

from random import Random
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

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

RULE = "slice-of-dynamic-slice"


def memory(weights: jax.Array, projected: jax.Array, start: Any) -> Any:
    """Runs a long short-term memory on inputs that are projected already."""

    def step(carry: Any, row: jax.Array) -> Any:
        hidden, cell = carry
        first, second, third, fourth = jnp.split(row + hidden @ weights, 4, axis=-1)
        cell = jax.nn.sigmoid(second) * cell + jax.nn.sigmoid(first) * jnp.tanh(third)
        hidden = jax.nn.sigmoid(fourth) * jnp.tanh(cell)
        return (hidden, cell), hidden

    return jax.lax.scan(step, start, projected)[1]


CASES: Cases = {
    "slice-of-dynamic-slice": [
        Case(
            "gates, 128 steps, batch 16, 128 states",
            memory,
            (f32(128, 512), f32(128, 16, 512), (f32(16, 128), f32(16, 128))),
        ),
        Case(
            "gates, 512 steps, batch 4, 32 states",
            memory,
            (f32(32, 128), f32(512, 4, 128), (f32(4, 32), f32(4, 32))),
        ),
    ]
}


def gates(rng: Random) -> str:
    """Draws a loop whose steps take parts of the rows that they read."""
    kind = rng.choice(["float32", "int32", "float64"])
    steps, rows, parts = rng.randint(2, 4), rng.randint(2, 3), rng.randint(2, 4)
    added, reverse = rng.random() < 0.5, rng.random() < 0.5

    def network(series: jax.Array, start: jax.Array) -> jax.Array:
        def step(state: jax.Array, given: jax.Array) -> tuple[jax.Array, None]:
            if added:
                given = (given + 1) * jnp.tile(state, (1, parts))
            first, *others = jnp.split(given, parts, 1)
            return jnp.maximum(state, first) - sum(others), None

        return lax.scan(step, start, series, reverse=reverse)[0]

    series = array(steps, rows, 8 * parts, dtype=kind)
    return lowered(network, series, array(rows, 8, dtype=kind))


def _sliced(x: jax.Array, i: jax.Array, sizes: tuple[int, int], start: int, stop: int) -> jax.Array:
    return lax.slice_in_dim(lax.dynamic_slice(x, (i, i), sizes), start, stop, axis=1)


def clamped(rng: Random) -> str:
    """Draws a dynamic slice with any index, and a slice of the dimension that it reads whole."""
    rows = rng.randint(1, 6)
    start = rng.randint(0, 15)
    stop = rng.randint(start + 16, 31)
    return lowered(lambda x, i: _sliced(x, i, (rows, 32), start, stop), f32(6, 32), s32())


def _used_whole(x: jax.Array, i: jax.Array) -> tuple[jax.Array, jax.Array]:
    row = lax.dynamic_index_in_dim(x, i, keepdims=False) * 2
    return row[:16], row


def _overlapping(x: jax.Array, i: jax.Array) -> jax.Array:
    row = jnp.exp(lax.dynamic_index_in_dim(x, i, keepdims=False))
    return row[:24] + row[8:]


PROGRAMS: Programs = {RULE: lambda rng: rng.choice([gates, clamped])(rng)}

REFUSED: Refused = {
    RULE: {
        "slices of a dimension that is read in part": program(
            lambda x, i: _sliced(x, i, (6, 24), 1, 20), f32(6, 32), s32()
        ),
        "a value that is used whole": program(_used_whole, f32(6, 32), s32()),
        "overlapping slices": program(_overlapping, f32(6, 32), s32()),
        "a stride": program(
            lambda x, i: lax.dynamic_index_in_dim(x, i, keepdims=False)[::2], f32(6, 32), s32()
        ),
        "no dynamic slice": program(lambda x: (x + 1)[:2], f32(6, 32)),
        "a slice of few elements": program(
            lambda x, i: lax.dynamic_index_in_dim(x, i, keepdims=False)[:15], f32(6, 32), s32()
        ),
    }
}
