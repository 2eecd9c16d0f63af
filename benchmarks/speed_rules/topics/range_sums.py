"""The rule about loops whose iterations sum up the numbers in a range of their own."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program


def sparse_product(
    starts: jax.Array, columns: jax.Array, values: jax.Array, x: jax.Array
) -> jax.Array:
    """Returns the product of a sparse matrix, given by its rows, and a vector."""
    numbers = jnp.arange(len(columns))

    def row(i: jax.Array, y: jax.Array) -> jax.Array:
        mask = (numbers >= starts[i]) & (numbers < starts[i + 1])
        own = jnp.where(mask, values, 0)
        return y.at[i].set(own @ x[jnp.where(mask, columns, 0)])

    return lax.fori_loop(0, len(starts) - 1, row, jnp.zeros(len(starts) - 1, values.dtype))


def mean_of_each_ring(data: jax.Array, radius: jax.Array, *, rings: int) -> jax.Array:
    """Returns the mean of the data in each of as many rings of one width."""
    most = radius.max()

    def ring(i: jax.Array, means: jax.Array) -> jax.Array:
        mask = (most * i / rings <= radius) & (radius < most * (i + 1) / rings)
        return means.at[i].set(jnp.where(mask, data, 0).mean(where=mask))

    return lax.fori_loop(0, rings, ring, jnp.zeros(rings, data.dtype))


def sparse_rows(ends: jax.Array, columns: jax.Array, values: jax.Array, x: jax.Array) -> jax.Array:
    """Returns the product of a sparse matrix, whose rows end in any order, and a vector."""
    last = jnp.array([len(columns)], ends.dtype)
    starts = jnp.concatenate([jnp.zeros(1, ends.dtype), jnp.sort(ends), last])
    return sparse_product(starts, columns, values, x)


def sums_in_ranges(rng: Random) -> str:
    """Draws a loop of sums in ranges that are in order for some inputs, which it computes."""
    ranges, count = rng.randint(2, 6), rng.choice([64, 80])
    dtype, is_position = rng.choice(["float32", "int32"]), rng.random() < 0.5
    kind = rng.choice(["where", "dot", "product", "count", "mean"])
    first, extra = rng.choice([(0, 0), (1, 1), (2, 0)])
    flips, in_order = rng.random() < 0.5, rng.random() < 0.7

    def function(numbers: jax.Array, bounds: jax.Array, x: jax.Array, w: jax.Array) -> jax.Array:
        if is_position:
            numbers = jnp.arange(count, dtype=dtype)
        if in_order:
            bounds = jnp.sort(bounds)

        def step(i: jax.Array, y: jax.Array) -> jax.Array:
            low, high = bounds[i], bounds[i + 1]
            mask = (
                (low <= numbers) & (high > numbers)
                if flips
                else ((numbers >= low) & (numbers < high))
            )
            if kind == "where":
                value = jnp.where(mask, x * w, 0).sum() + x[0]
            elif kind == "dot":
                value = 2 * (w @ jnp.where(mask, x, 0))
            elif kind == "product":
                value = (mask * x * w).sum() * i
            elif kind == "count":
                value = mask.sum().astype(x.dtype)
            else:
                value = jnp.where(mask, x, 0).sum() / (1 + mask.sum())
            return y.at[first + i].set(value.astype(x.dtype))

        return lax.fori_loop(0, ranges, step, jnp.ones(first + ranges + extra, x.dtype))

    return lowered(
        function,
        array(count, dtype=dtype),
        array(ranges + 1, dtype=dtype),
        array(count),
        array(count),
    )


PROGRAMS: Programs = {"range-sums-by-segment": sums_in_ranges}


def _loop(of: Callable[..., jax.Array]) -> Callable[[], str]:
    """Returns a program of a loop with numbers, bounds, and what is summed."""

    def function(t: jax.Array, bounds: jax.Array, x: jax.Array) -> jax.Array:
        def step(i: jax.Array, y: jax.Array) -> jax.Array:
            return y.at[i].set(of(i, y, t, bounds, x))

        return lax.fori_loop(0, 5, step, jnp.zeros(5))

    return program(function, "64 6 64")


REFUSED: Refused = {
    "range-sums-by-segment": {
        "ranges without an end": _loop(lambda i, y, t, b, x: jnp.where(t >= b[i], x, 0).sum()),
        "ranges with their end": _loop(
            lambda i, y, t, b, x: jnp.where((t >= b[i]) & (t <= b[i + 1]), x, 0).sum()
        ),
        "ones outside of the range": _loop(
            lambda i, y, t, b, x: jnp.where((t >= b[i]) & (t < b[i + 1]), x, 1).sum()
        ),
        "greatest in the range": _loop(
            lambda i, y, t, b, x: jnp.where((t >= b[i]) & (t < b[i + 1]), x, 0).max()
        ),
        "other numbers in each iteration": _loop(
            lambda i, y, t, b, x: jnp.where((t >= b[i]) & (t < b[i + 1]), x * i, 0).sum()
        ),
        "masked numbers elsewhere": _loop(
            lambda i, y, t, b, x: (
                lambda mask: jnp.where(mask, jnp.where(mask, x, 0)[::-1], 0).sum()
            )((t >= b[i]) & (t < b[i + 1]))
        ),
        "a table of masked numbers": _loop(
            lambda i, y, t, b, x: (
                lambda mask: jnp.where(mask, jnp.where(mask, x, 0)[jnp.argsort(t)], 0).sum()
            )((t >= b[i]) & (t < b[i + 1]))
        ),
        "sums of earlier iterations": _loop(
            lambda i, y, t, b, x: jnp.where((t >= b[i]) & (t < b[i + 1]), x, 0).sum() + y[0]
        ),
        "bounds from earlier iterations": _loop(
            lambda i, y, t, b, x: jnp.where((t >= y[0]) & (t < b[i + 1]), x, 0).sum()
        ),
        "no loop": program(
            lambda t, a, b: jnp.where((t >= a) & (t < b), t, 0).sum(), "64 f32: f32:"
        ),
    }
}
