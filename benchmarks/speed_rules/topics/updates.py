"""Rules about updates: those that a select chooses, and scatters to known positions."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program, s32
from benchmarks.speed_rules.topics.sorting import by_total_order


def filled(x: jax.Array, places: jax.Array, values: jax.Array) -> jax.Array:
    """Writes values into each row, from a place of its own up to the end of the row."""

    def fill(row: jax.Array, place: jax.Array) -> jax.Array:
        def step(state: Any, value: jax.Array) -> Any:
            row, place = state
            row = lax.cond(
                place < len(row), lambda row: row.at[place].set(value), lambda row: row, row
            )
            return (row, place + 1), None

        return lax.scan(step, (row, place), values)[0][0]

    return jax.vmap(fill)(x, places)


def cached(cache: jax.Array, rows: jax.Array, places: jax.Array, done: jax.Array) -> jax.Array:
    """Writes rows into a cache of each sequence, unless it is done, one after the other."""

    def step(state: Any, row: jax.Array) -> Any:
        cache, places = state
        written = cache.at[jnp.arange(len(cache)), places].set(row)
        return (jnp.where(done[:, None, None] > 0, cache, written), places + 1), None

    return lax.scan(step, (cache, places), rows)[0][0]


def triangles(vectors: jax.Array, *, size: int) -> jax.Array:
    """Returns lower triangles whose elements are given row by row."""
    rows, columns = np.tril_indices(size)
    empty = jnp.zeros((len(vectors), size, size), vectors.dtype)
    return empty.at[:, rows, columns].add(vectors)


def interleaved(x: jax.Array, y: jax.Array) -> jax.Array:
    """Returns the columns of two matrices in turns."""
    result = jnp.zeros((len(x), 2 * x.shape[1]), x.dtype)
    return result.at[:, ::2].set(x).at[:, 1::2].set(y)


def most_pairs(sequence: jax.Array) -> jax.Array:
    """Returns the most pairs that parts of a sequence form without crossing, as RNA folds."""
    size = len(sequence)

    def rows(step: jax.Array, table: jax.Array) -> jax.Array:
        i = size - 2 - step

        def part(j: jax.Array, table: jax.Array) -> jax.Array:
            def longest(k: jax.Array, table: jax.Array) -> jax.Array:
                return table.at[i, j].max(table[i, k] + table[k + 1, j])

            matched = (sequence[i] + sequence[j] == 3).astype(table.dtype)
            table = table.at[i, j].set(jnp.maximum(table[i, j], table[i, j - 1]))
            table = table.at[i, j].set(jnp.maximum(table[i, j], table[i + 1, j]))
            inside = jnp.where(i < j - 1, table[i + 1, j - 1] + matched, table[i + 1, j - 1])
            table = table.at[i, j].set(jnp.maximum(table[i, j], inside))
            return lax.fori_loop(i + 1, j, longest, table)

        return lax.fori_loop(i + 1, size, part, table)

    return lax.fori_loop(0, size - 1, rows, jnp.zeros((size, size), jnp.int32))


def added_in_place(x: jax.Array, y: jax.Array) -> jax.Array:
    """Returns the product of two matrices, of which each element is added up in place."""

    def element(n: jax.Array, product: jax.Array) -> jax.Array:
        i, j = n // y.shape[1], n % y.shape[1]

        def add(k: jax.Array, product: jax.Array) -> jax.Array:
            return product.at[i, j].add(x[i, k] * y[k, j])

        return lax.fori_loop(0, x.shape[1], add, product)

    empty = jnp.zeros((x.shape[0], y.shape[1]), x.dtype)
    return lax.fori_loop(0, empty.size, element, empty)


_Update = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]

_UPDATES: dict[str, _Update] = {
    "slice": lambda x, i, y: lax.dynamic_update_slice(x, y[:, :2], (0, i[0])),
    "block": lambda x, i, y: lax.dynamic_update_slice(x, y[:1, :2], (i[1], i[0])),
    "set": lambda x, i, y: x.at[jnp.arange(len(x)), i].set(y[:, 0]),
    "add": lambda x, i, y: x.at[i].add(y),
    "multiply": lambda x, i, y: x.at[i, i].multiply(y[:, 0], mode="clip"),
    "batch": lambda x, i, y: jax.vmap(lambda x, i, y: x.at[i].set(y[0]))(x, i, y),
    "columns": lambda x, i, y: x.at[:, i].set(y[:, : len(i)], mode="drop"),
}
_BY_ROW = ("slice", "set", "add", "multiply", "batch")  # updates of which each is of one row


def selected_updates(rng: Random) -> str:
    """Draws a select between an array and updates of it, by a scalar or a predicate of rows."""
    by_row = rng.random() < 0.6
    kinds = rng.choices(_BY_ROW if by_row else list(_UPDATES), k=rng.randint(1, 3))
    sides = [rng.random() < 0.5 for _ in kinds]
    dtype = rng.choice(["float32", "int32", "bfloat16"])
    rows, columns = rng.randint(3, 5), rng.randint(5, 7)

    def function(x: jax.Array, p: jax.Array, i: jax.Array, y: jax.Array) -> jax.Array:
        yes = no = x
        for kind, side in zip(kinds, sides, strict=True):
            if side:
                yes = _UPDATES[kind](yes, i, y)
            else:
                no = _UPDATES[kind](no, i, y)
        p = p[:, None] > 0 if by_row else jnp.all(p > 0)
        return jnp.where(p, yes, no)

    return lowered(
        function,
        array(rows, columns, dtype=dtype),
        array(rows),
        s32(rows),
        array(rows, columns, dtype=dtype),
    )


def updated_reads(rng: Random) -> str:
    """Draws reads of single elements of an array between updates of single elements."""
    rank, count = rng.randint(1, 3), rng.randint(1, 4)
    sizes = [rng.randint(2, 4) for _ in range(rank)]
    modes = [rng.choice(["slice", "drop", "promise_in_bounds", "clip"]) for _ in range(count)]
    dtype = rng.choice(["float32", "int32", "bfloat16"])

    def function(x: jax.Array, places: jax.Array, read: jax.Array, y: jax.Array) -> jax.Array:
        total = jnp.zeros((), x.dtype)
        for k, mode in enumerate(modes):
            place = tuple(places[k])
            if mode == "slice":
                x = lax.dynamic_update_slice(x, y[k].reshape([1] * rank), place)
            else:
                x = x.at[place].set(y[k], mode=mode)
            total += lax.dynamic_slice(x, tuple(read[k]), [1] * rank).reshape(())
        return x.at[(0,) * rank].set(total)

    return lowered(
        function,
        array(*sizes, dtype=dtype),
        s32(count, rank),
        s32(count, rank),
        array(count, dtype=dtype),
    )


def carried_elements(rng: Random) -> str:
    """Draws loops that update an element of an array at one place, and read others."""
    rank = rng.randint(1, 3)
    sizes = [rng.randint(2, 4) for _ in range(rank)]
    method = rng.choice(["set", "add", "multiply", "max", "min", "slice"])
    dtype = rng.choice(["float32", "int32", "bfloat16"])
    mode = rng.choice(["drop", "promise_in_bounds", "clip"])

    def function(x: jax.Array, place: jax.Array, read: jax.Array, y: jax.Array) -> jax.Array:
        def step(k: jax.Array, x: jax.Array) -> jax.Array:
            other = lax.dynamic_slice(x, tuple(read + k), [1] * rank).reshape(())
            value = y[k] - other + x[tuple(place)]
            if method == "slice":
                return lax.dynamic_update_slice(x, value.reshape([1] * rank), tuple(place))
            return getattr(x.at[tuple(place)], method)(value, mode=mode)

        return lax.fori_loop(place[0] % 2, read[0] % 6, step, x)

    return lowered(
        function, array(*sizes, dtype=dtype), s32(rank), s32(rank), array(6, dtype=dtype)
    )


def known_scatters(rng: Random, method: str) -> str:
    """Draws a scatter to different positions along one or two dimensions, that sets or adds."""
    sizes = [rng.randint(2, 6) for _ in range(rng.randint(1, 4))]
    along = sorted(rng.sample(range(len(sizes)), min(len(sizes), rng.randint(1, 2))))
    every = list(np.ndindex(*(sizes[i] for i in along)))
    places = rng.sample(every, rng.randint(max(1, len(every) // 8), len(every)))
    if rng.random() < 0.3:
        places.append(tuple(size + 3 for size in sizes[: len(along)]))  # beyond the end
    columns = iter(np.array(places).T)
    index = tuple(next(columns) if i in along else slice(None) for i in range(len(sizes)))
    dtype = rng.choice(["float32", "int32", "bfloat16"])
    starts = rng.random() < 0.5

    def function(x: jax.Array, y: jax.Array) -> jax.Array:
        x = jnp.zeros_like(x) if starts else x
        return getattr(x.at[index], method)(y, mode="drop")

    shape = jax.eval_shape(lambda x: x.at[index].get(mode="clip"), array(*sizes)).shape
    return lowered(function, array(*sizes, dtype=dtype), array(*shape, dtype=dtype))


PROGRAMS: Programs = {
    "update-of-select": selected_updates,
    "read-before-update": updated_reads,
    "carried-element": carried_elements,
    "scatter-as-gather": partial(known_scatters, method="set"),
    "scatter-as-gather:add": partial(known_scatters, method="add"),
}


def _selected(update: Callable[..., jax.Array]) -> Callable[[], str]:
    """Returns a program that selects by row between an array and an update of it."""
    return program(
        lambda x, p, i, y: jnp.where(p[:, None] > 0, update(x, i, y), x), "4x6 4 s32:4 4x6"
    )


def _placed_by_zero(x: jax.Array, y: jax.Array) -> jax.Array:
    """Returns rows at places that depend on whether -0 equals 0."""
    is_zero = -(jnp.arange(2.0) * 0) == 0
    return x.at[jnp.where(is_zero, jnp.arange(2), 3 - jnp.arange(2))].set(y)


def _placed_near_steps(x: jax.Array, y: jax.Array) -> jax.Array:
    """Returns rows at places that depend on how products are rounded."""
    places = jnp.arange(64, dtype=jnp.float32) * jnp.float32(1 / 9) * jnp.float32(21)
    return x.at[jnp.floor(places).astype(jnp.int32)].set(y)


def _read_after(update: Callable[..., jax.Array], width: int = 1) -> Callable[[], str]:
    """Returns a program that reads some elements of a row after an update of it."""
    return program(
        lambda x, i, k, y: lax.dynamic_slice(update(x, i, y), (k,), (width,)), "6 s32: s32: 2"
    )


def _looped(step: Callable[..., jax.Array]) -> Callable[[], str]:
    """Returns a program that updates a row four times."""
    return program(
        lambda x, i, y: lax.fori_loop(0, 4, lambda k, x: step(x, i, k, y), x), "6 s32: 4"
    )


def _sharded() -> str:
    """Returns a loop whose state says how each of its elements is divided among devices."""
    text = _looped(lambda x, i, k, y: x.at[i].add(y[k]))()

    def with_sharding(match: re.Match[str]) -> str:
        parts = ", ".join(["{replicated}"] * match[0].count("["))
        return f"{match[0]}, sharding={{{parts}}}"

    return re.sub(r"= \(.*\) parameter\(0\)", with_sharding, text)


REFUSED: Refused = {
    "carried-element": {
        "a divided state": _sharded,
        "another place": _looped(lambda x, i, k, y: x.at[i + k].set(x[i] + y[k])),
        "a place that is read": program(
            lambda x, i: lax.fori_loop(0, 4, lambda k, x: x.at[x[i] % 6].add(k), x), "s32:6 s32:"
        ),
        "two elements updated": _looped(
            lambda x, i, k, y: lax.dynamic_update_slice(x, y[:2] + k, (i,))
        ),
        "all elements read": _looped(lambda x, i, k, y: x.at[i].set(x.sum() + y[k])),
        "a condition that reads it": program(
            lambda x, i: lax.while_loop(lambda x: x[i] < 4, lambda x: x.at[i].add(1), x), "6 s32:"
        ),
    },
    "read-before-update": {
        "two elements read": _read_after(lambda x, i, y: x.at[i].set(y[0]), width=2),
        "two elements set": _read_after(lambda x, i, y: lax.dynamic_update_slice(x, y, (i,))),
        "an element mapped": _read_after(lambda x, i, y: x.at[i].apply(jnp.tanh)),
        "two updates by one scatter": _read_after(
            lambda x, i, y: x.at[jnp.stack([i, i + 2])].set(y)
        ),
    },
    "update-of-select": {
        "another array": program(
            lambda x, y, p, i: jnp.where(p > 0, x.at[i].set(1), y), "6 6 f32: s32:"
        ),
        "no update": program(lambda x, p: jnp.where(p > 0, x + 1, x), "6 f32:"),
        "columns of all rows": _selected(lambda x, i, y: x.at[:, i].set(y[:, :4])),
        "slices across rows": _selected(
            lambda x, i, y: lax.dynamic_update_slice(x, y[:2, :2], (i[0], i[1]))
        ),
        "unsigned indices": _selected(
            lambda x, i, y: lax.scatter(
                x,
                i.astype(jnp.uint32)[:, None],
                y,
                lax.ScatterDimensionNumbers((1,), (0,), (0,)),
                mode="promise_in_bounds",
            )
        ),
    },
    "scatter-as-gather": {
        "positions that are given": program(lambda x, i, y: x.at[i].set(y), "8x3 s32:8 8x3"),
        "positions by the sign of zero": by_total_order(_placed_by_zero, "4x3 2x3"),
        "positions that depend on rounding": program(_placed_near_steps, "200x3 64x3"),
        "a position set twice": program(
            lambda x, y: x.at[np.array([0, 2, 2, 1])].set(y), "4x3 4x3"
        ),
        "slices that are added": program(lambda x, y: x.at[np.array([2, 0])].add(y), "4x3 2x3"),
        "few positions of many": program(lambda x, y: x.at[np.array([3])].set(y), "64x3 1x3"),
        "slices of parts": program(
            lambda x, y: lax.scatter(
                x,
                np.array([[0], [3]]),
                y,
                lax.ScatterDimensionNumbers((1,), (), (0,)),
            ),
            "6 2x2",
        ),
    },
    "scatter-as-gather:add": {
        "products": program(lambda x, y: x.at[np.array([2, 0])].multiply(y), "4x3 2x3"),
        "complex numbers": program(lambda x, y: x.at[np.array([2, 0])].add(y), "c64:4x3 c64:2x3"),
        "a position twice": program(lambda x, y: x.at[np.array([0, 2, 2, 1])].add(y), "4x3 4x3"),
        "slices that are set": program(lambda x, y: x.at[np.array([2, 0])].set(y), "4x3 2x3"),
    },
}
