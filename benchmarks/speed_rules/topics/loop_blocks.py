"""The rule about loops over large arrays that compute each index of a dimension alone."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program


def tridiagonal(below: jax.Array, centre: jax.Array, above: jax.Array, right: jax.Array) -> Any:
    """Solves a tridiagonal system for each row, by two scans over the columns."""

    def down(last: Any, row: Any) -> Any:
        a, b, c, d = row
        scale = 1 / (4 + b - a * last[0])
        new = c * scale, (d - a * last[1]) * scale
        return new, new

    def up(last: jax.Array, row: Any) -> Any:
        value = row[1] - row[0] * last
        return value, value

    zero = jnp.zeros(len(below), below.dtype)
    _, rows = lax.scan(down, (zero, zero), (below.T, centre.T, above.T, right.T))
    return lax.scan(up, zero, rows, reverse=True)[1].T


def moving_average(series: jax.Array) -> jax.Array:
    """Averages each row with weights that decay, by a scan over the columns."""

    def step(mean: jax.Array, value: jax.Array) -> Any:
        mean = 0.9 * mean + 0.1 * value
        return mean, mean

    return lax.scan(step, series[:, 0], series.T)[1].T


def draw_scan(rng: Random) -> str:
    """Draws scans over the transposed rows of an array, or loops over its last dimension."""
    steps, count = rng.randint(4, 6), rng.choice([32768, 40001])
    more, dtype = rng.choice([(), (2,)]), rng.choice(["float32", "int32"])
    reverse, follows, is_last = (rng.random() < 0.5 for _ in range(3))

    def step(state: jax.Array, row: jax.Array) -> Any:
        state = jnp.maximum(state * 2 - row, row) + 1
        return state, (state, row * state)

    def scanned(x: jax.Array, start: jax.Array) -> Any:
        rows = jnp.moveaxis(3 * x, 1, 0)
        state, (kept, others) = lax.scan(step, start, rows, reverse=reverse)
        if follows:
            last, kept = lax.scan(lambda s, row: (s - row, s + row), state, kept, reverse=True)
            return jnp.moveaxis(kept, 0, 1), last
        return jnp.moveaxis(kept, 0, 1), jnp.moveaxis(others, 0, 1)

    def written(x: jax.Array, start: jax.Array) -> jax.Array:
        def write(i: jax.Array, out: jax.Array) -> jax.Array:
            return out.at[..., i].set(out[..., i - 1] - x[..., i] * start)

        return lax.fori_loop(1, steps, write, x + 1)

    shape = (count, *more, steps) if is_last else (count, steps, *more)
    function = written if is_last else scanned
    return lowered(function, array(*shape, dtype=dtype), array(count, *more, dtype=dtype))


PROGRAMS: Programs = {"loop-in-blocks": draw_scan}


def _scanned(
    step: Callable[..., jax.Array], shapes: str = "65536x16 65536", more: str = ""
) -> Callable[[], str]:
    """Returns a scan over the columns of an array, whose states are kept."""

    def run(columns: jax.Array, state: jax.Array, *rest: jax.Array) -> Any:
        def keep(state: jax.Array, row: jax.Array) -> Any:
            state = step(state, row, *rest)
            return state, state

        return lax.scan(keep, state, columns.T)[1].T

    return program(run, f"{shapes} {more}")


def _until(columns: jax.Array, state: jax.Array) -> Any:
    """Adds columns to a state until it is large."""

    def step(carried: Any) -> Any:
        i, state, kept = carried
        state = state + columns.T[i]
        return i + 1, state, kept.at[i].set(state)

    start = 0, state, columns.T
    return lax.while_loop(lambda one: one[1].sum() < 100, step, start)[2].T


REFUSED: Refused = {
    "loop-in-blocks": {
        "neighbours in each iteration": _scanned(lambda s, row: jnp.roll(s, 1) + row),
        "sums over all indices": _scanned(lambda s, row: s / s.sum() + row),
        "reversed in each iteration": _scanned(lambda s, row: s[::-1] + row),
        "sorted in each iteration": _scanned(lambda s, row: jnp.sort(s) + row),
        "cumulative sums": _scanned(lambda s, row: jnp.cumsum(s) + row),
        "columns by their index": _scanned(lambda s, row: s + row * jnp.arange(len(s))),
        "small arrays": _scanned(lambda s, row: 0.9 * s + row, "1024x16 1024"),
        "few numbers in an iteration": _scanned(lambda s, row: 0.9 * s + row, "64x8192 64"),
        "other positions for each index": _scanned(lambda s, row, p: s + row[p], more="s32:65536"),
        "rows in their order": program(
            lambda rows, s: lax.scan(lambda s, row: (s + row, s * row), s, rows)[1],
            "16x65536 65536",
        ),
        "no number of iterations": program(_until, "65536x16 65536"),
        "no loop": program(lambda x, y: 0.9 * x.T + y, "65536x16 65536"),
    }
}
