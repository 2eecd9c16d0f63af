"""Rules about sorting, positions of greatest elements, and top-k."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program

FLOATS = (jnp.float32, jnp.bfloat16, jnp.float16)
INTEGERS = (jnp.int32, jnp.uint32, jnp.int16, jnp.uint8)


def tied(values: jax.Array) -> jax.Array:
    """Returns values of which many are equal, -0 and NaN among those of floats."""
    if not jnp.issubdtype(values.dtype, jnp.floating):
        return values & 3
    coarse = jnp.round(values * 2).astype(values.dtype)
    return jnp.where(coarse > 2, jnp.nan, coarse)


def draw_shape(rng: Random, least: int = 2, most: int = 12) -> tuple[tuple[int, ...], int]:
    """Draws a shape, and the dimension that is sorted."""
    others = [rng.randint(1, 3) for _ in range(rng.randint(0, 2))]
    dimension = rng.randint(0, len(others))
    others.insert(dimension, rng.randint(least, most))
    return tuple(others), dimension


def total_order(values: jax.Array) -> jax.Array:
    """Returns the values, sorted by two keys."""
    return lax.sort((values, -values), num_keys=2)[0]


def clipped_mean(workers: jax.Array) -> jax.Array:
    """Returns means of eight workers' values without the least and the greatest."""
    return jnp.sort(workers, axis=0)[1:-1].mean(axis=0)


def elites(start: jax.Array) -> jax.Array:
    """Moves a population to its best half, step after step."""

    def step(values: jax.Array, _: None) -> tuple[jax.Array, None]:
        order = jnp.argsort(jnp.sin(values * 3))
        return values * 0.5 + values[order] * 0.5, None

    return lax.scan(step, start, length=20)[0]


def quartiles(values: jax.Array) -> jax.Array:
    """Returns quartiles of columns."""
    return jnp.quantile(values, jnp.array([0.25, 0.5, 0.75]), axis=0)


def ranks(values: jax.Array) -> jax.Array:
    """Returns ranks in columns, by sorting twice."""
    return jnp.argsort(jnp.argsort(values, axis=0), axis=0).astype(jnp.float32)


def sorted_pairs(*arrays: jax.Array) -> Any:
    """Returns rows sorted, with values that go along."""
    return lax.sort(arrays, num_keys=1)


def doubled_sort(values: jax.Array) -> jax.Array:
    """Returns sorted rows, times two."""
    return jnp.sort(values, axis=-1) * 2.0


def descending(values: jax.Array) -> jax.Array:
    """Returns rows sorted from the greatest element on."""
    return -jnp.sort(-values, axis=-1)


def _both(values: jax.Array, dimension: int) -> tuple[jax.Array, jax.Array]:
    return jnp.sort(tied(values), axis=dimension), jnp.sort(values, axis=dimension)


def small_sorts(rng: Random) -> str:
    """Draws sorts along a dimension of at most 32 elements."""
    dimension = rng.randint(0, 2)
    shape = [rng.randint(3, 4), rng.randint(3, 4)]
    shape.insert(dimension, rng.randint(2, 32))
    values = array(*shape, dtype=rng.choice(FLOATS + INTEGERS))
    return lowered(lambda values: _both(values, dimension), values)


def sorts(rng: Random, *, minor: bool, types: tuple[Any, ...] = FLOATS) -> str:
    """Draws sorts along any dimension, along the last or with minor=False along any but that."""
    shape, dimension = draw_shape(rng)
    if not minor:
        shape, dimension = (*shape, rng.randint(1, 4)), min(dimension, len(shape) - 1)
    elif types is not FLOATS:
        dimension = len(shape) - 1
        shape = (*shape[:-1], rng.randint(2, 40))
    values = array(*shape, dtype=rng.choice(types))
    return lowered(lambda values: _both(values, dimension), values)


def pairs(rng: Random, *, minor: bool, types: tuple[Any, ...] = (*FLOATS, *INTEGERS)) -> str:
    """Draws sorts with what goes along, along the last dimension or along any but that."""
    shape, dimension = draw_shape(rng)
    dimension = len(shape) - 1 if minor else dimension
    if not minor:
        shape = (*shape, rng.randint(1, 4))
    elif shape[-1] < 2:
        shape = (*shape[:-1], 2)
    dtype = rng.choice(types)

    def function(values: jax.Array, carried: jax.Array) -> Any:
        order = jnp.argsort(tied(values), axis=dimension)
        pair = lax.sort((tied(values), carried), dimension=dimension, num_keys=1)
        return order, pair

    return lowered(function, array(*shape, dtype=dtype), array(*shape))


def draw_ranks(rng: Random) -> str:
    """Draws sorts by what another sort or top-k has ordered."""
    shape, dimension = draw_shape(rng)
    by_top_k = rng.random() < 0.5

    def function(values: jax.Array, carried: jax.Array) -> Any:
        if by_top_k:
            order = lax.top_k(values, values.shape[-1])[1]
            return lax.sort((order, carried), dimension=values.ndim - 1, num_keys=1)
        order = jnp.argsort(tied(values), axis=dimension)
        return jnp.argsort(order, axis=dimension)

    return lowered(function, array(*shape), array(*shape))


def positions(rng: Random) -> str:
    """Draws positions of the greatest or least elements."""
    shape, dimension = draw_shape(rng)
    dtype = rng.choice((*FLOATS, jnp.int32, jnp.int16))
    search = rng.choice([jnp.argmax, jnp.argmin])

    def function(values: jax.Array) -> Any:
        return search(values, axis=dimension), search(tied(values), axis=dimension)

    return lowered(function, array(*shape, dtype=dtype))


def medians(rng: Random) -> str:
    """Draws medians and quantiles."""
    shape, dimension = draw_shape(rng)
    part = rng.choice([0.0, 0.25, 0.5, 1.0])

    def function(values: jax.Array) -> Any:
        return jnp.median(values, axis=dimension), jnp.quantile(values, part, axis=dimension)

    return lowered(function, array(*shape))


def _last_maximum(values: jax.Array) -> jax.Array:
    def later(kept: Any, given: Any) -> Any:
        is_greater = kept[0] > given[0]
        return jnp.maximum(kept[0], given[0]), jnp.where(is_greater, kept[1], given[1])

    start = (jnp.float32(-jnp.inf), jnp.int32(0))
    return 7 - lax.reduce((values, lax.iota(jnp.int32, 8)), start, later, (0,))[1]


def last_sorted(values: jax.Array, *, count: int) -> jax.Array:
    """Returns the greatest values of rows."""
    return jnp.sort(values, axis=-1)[:, -count:]


def trimmed(values: jax.Array, *, count: int) -> jax.Array:
    """Returns means of the greatest values of rows."""
    return last_sorted(values, count=count).mean(axis=-1)


def first_ordered(scores: jax.Array) -> Any:
    """Returns places and values of the ten greatest scores of rows."""
    order = jnp.argsort(-scores, axis=-1)[:, :10]
    return order, jnp.take_along_axis(scores, order, axis=-1)


def flipped(scores: jax.Array) -> jax.Array:
    """Returns the ten greatest scores of rows, the greatest first."""
    return jnp.sort(scores, axis=-1)[:, ::-1][:, :10]


def elite(fitness: jax.Array) -> jax.Array:
    """Returns the places of the best half of a small population."""
    return jnp.argsort(fitness)[: fitness.size // 2]


def nearest(distances: jax.Array, *, count: int) -> Any:
    """Returns the least distances of rows."""
    return lax.top_k(-distances, count)


def prefixes(rng: Random) -> str:
    """Draws the first or last elements of a sort."""
    shape, dimension = draw_shape(rng, 4)
    dtype = rng.choice(FLOATS + INTEGERS)
    size = rng.randint(1, shape[dimension] // 2)
    stride = rng.choice([1, 1, 2])
    at_end, flips = rng.random() < 0.5, rng.random() < 0.5
    kind = rng.choice(["sort", "argsort", "pairs"])

    def function(values: jax.Array) -> Any:
        values = tied(values)

        def part(ordered: jax.Array) -> jax.Array:
            ordered = jnp.flip(ordered, dimension) if flips else ordered
            start = shape[dimension] - size if at_end else 0
            return lax.slice_in_dim(ordered, start, start + size, stride, dimension)

        if kind == "sort":
            return part(jnp.sort(values, axis=dimension))
        if kind == "argsort":
            return part(jnp.argsort(values, axis=dimension))
        carried = jnp.cumsum(jnp.ones(shape), axis=dimension)
        pair = lax.sort((values, carried), dimension=dimension, num_keys=1)
        return tuple(map(part, pair))

    return lowered(function, array(*shape, dtype=dtype))


def _top_k(count: int, values: jax.ShapeDtypeStruct) -> str:
    return lowered(lambda x: (lax.top_k(x, count), lax.top_k(tied(x), count)), values)


def integer_top_k(rng: Random, types: tuple[Any, ...] = INTEGERS) -> str:
    """Draws the greatest of integers."""
    shape = (*draw_shape(rng)[0], rng.randint(3, 9))
    count = rng.randint(1, shape[-1] - 1)
    return _top_k(count, array(*shape, dtype=rng.choice(types)))


def large_top_k(rng: Random, types: tuple[Any, ...] = (jnp.float32, *INTEGERS)) -> str:
    """Draws the greatest of each row, at least an eighth of it."""
    shape = (*draw_shape(rng)[0], rng.randint(3, 24))
    count = rng.randint(-(-shape[-1] // 8), shape[-1])
    return _top_k(count, array(*shape, dtype=rng.choice(types)))


def grouped_top_k(rng: Random, types: tuple[Any, ...] = (jnp.float32,)) -> str:
    """Draws the few greatest of long rows."""
    rows = [rng.randint(1, 3) for _ in range(rng.randint(0, 2))]
    count = rng.randint(1, 9)
    return _top_k(count, array(*rows, rng.randint(32 * count, 48 * count), dtype=rng.choice(types)))


PROGRAMS: Programs = {
    "sort-as-network": small_sorts,
    "gather-at-constant-as-slice": medians,
    "sort-along-minor": lambda rng: rng.choice((sorts, pairs))(rng, minor=False),
    "sort-by-integer-keys": lambda rng: sorts(rng, minor=True),
    "sort-by-packed-keys": lambda rng: pairs(rng, minor=True),
    "sort-by-permutation-as-scatter": draw_ranks,
    "argmax-as-first-maximum": positions,
    "sort-prefix-as-top-k": prefixes,
    "top-k-by-float-keys": integer_top_k,
    "top-k-by-packed-keys": large_top_k,
    "top-k-of-groups": grouped_top_k,
}


def by_total_order(function: Callable[..., Any], arguments: str) -> Callable[[], str]:
    """Returns a program whose comparisons of equality all take -0 for another number than 0."""
    make = program(function, arguments)
    return lambda: re.sub(r"direction=(EQ|NE)(?!, type)", r"direction=\1, type=TOTALORDER", make())


REFUSED: Refused = {
    "gather-at-constant-as-slice": {
        "position that is an argument": program(lambda x, i: x[i], "8x3 s32:"),
        "several positions": program(lambda x: x[jnp.array([1, 4])], "8x3"),
    },
    "sort-as-network": {
        "more than 32 elements": program(partial(jnp.sort, axis=0), "33x16"),
        "few rows": program(partial(jnp.sort, axis=0), "16x7"),
        "positions that go along": program(partial(jnp.argsort, axis=0), "16x16"),
    },
    "sort-along-minor": {
        "last dimension": program(partial(jnp.sort, axis=-1), "3x8"),
        "first dimension, two keys": program(
            lambda x: lax.sort((x, -x), dimension=0, num_keys=2)[0], "8x3"
        ),
    },
    "sort-by-integer-keys": {
        "integers": program(jnp.sort, "s32:3x8"),
        "carried array": program(jnp.argsort, "3x8"),
    },
    "sort-by-packed-keys": {
        "two keys": program(total_order, "3x8"),
        "not stable": program(lambda x: lax.sort((x, x * 2), num_keys=1, is_stable=False), "8"),
        "zeros of both signs told apart": by_total_order(jnp.argsort, "3x8"),
    },
    "sort-by-permutation-as-scatter": {
        "key that is no permutation": program(lambda x: jnp.argsort(x), "s32:3x8"),
        "top-k of some": program(lambda x: jnp.argsort(lax.top_k(x, 5)[1]), "3x8"),
        "permutation along another dimension": program(
            lambda x: jnp.argsort(jnp.argsort(x, axis=0), axis=1), "3x8"
        ),
    },
    "argmax-as-first-maximum": {
        "last of equal elements": program(_last_maximum, "8"),
        "zeros of both signs told apart": by_total_order(partial(jnp.argmax, axis=1), "3x8"),
        "greatest element itself": program(partial(jnp.max, axis=1), "3x8"),
    },
    "sort-prefix-as-top-k": {
        "more than half of the elements": program(lambda x: jnp.sort(x)[:, :5], "3x8"),
        "elements from the middle": program(lambda x: jnp.sort(x)[:, 3:6], "3x9"),
        "slice along another dimension": program(lambda x: jnp.sort(x, axis=1)[:2], "8x8"),
        "equal elements in any order": program(
            lambda x: lax.sort((x, x * 2), num_keys=1, is_stable=False)[1][:2], "8"
        ),
        "prefix of a sort by two keys": program(lambda x: total_order(x)[:, :2], "3x8"),
    },
    "top-k-by-float-keys": {
        "floats": program(partial(lax.top_k, k=3), "3x8"),
        "all elements": program(partial(lax.top_k, k=8), "s32:3x8"),
    },
    "top-k-by-packed-keys": {
        "less than an eighth of the elements": program(partial(lax.top_k, k=2), "3x17"),
        "sort in place of top-k": program(lambda x: jnp.argsort(x, axis=-1)[:, :3], "3x8"),
    },
    "top-k-of-groups": {
        "groups that leave more than half of the elements": program(
            lambda x: lax.top_k(x, 8), "3x128"
        ),
        "groups of integers": program(partial(lax.top_k, k=2), "s32:3x256"),
        "more than 128 elements": program(partial(lax.top_k, k=129), "3x8192"),
    },
}
