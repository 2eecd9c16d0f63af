"""Rules about sorting."""

from __future__ import annotations

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
    return jax.lax.sort((values, -values), num_keys=2)[0]


def median(windows: jax.Array) -> jax.Array:
    """Returns the medians of windows, as a median filter of an image does."""
    return jnp.median(windows, axis=0)


def clipped_mean(workers: jax.Array) -> jax.Array:
    """Returns means of eight workers' values without the least and the greatest."""
    return jnp.sort(workers, axis=0)[1:-1].mean(axis=0)


def elites(start: jax.Array) -> jax.Array:
    """Moves a population to its best half, step after step."""

    def step(values: jax.Array, _: None) -> tuple[jax.Array, None]:
        order = jnp.argsort(jnp.sin(values * 3))
        return values * 0.5 + values[order] * 0.5, None

    return jax.lax.scan(step, start, length=20)[0]


def quartiles(values: jax.Array) -> jax.Array:
    """Returns quartiles of columns."""
    return jnp.quantile(values, jnp.array([0.25, 0.5, 0.75]), axis=0)


def ranks(values: jax.Array) -> jax.Array:
    """Returns ranks in columns, by sorting twice."""
    return jnp.argsort(jnp.argsort(values, axis=0), axis=0).astype(jnp.float32)


def sorted_pairs(keys: jax.Array, values: jax.Array) -> Any:
    """Returns rows sorted, with values that go along."""
    return jax.lax.sort((keys, values), num_keys=1)


def labels(logits: jax.Array) -> jax.Array:
    """Returns the class of each row."""
    return jnp.argmax(logits, axis=-1)


def best_before(scores: jax.Array) -> jax.Array:
    """Returns the best state before each, as a step of Viterbi's algorithm."""
    return jnp.argmax(scores, axis=0)


CASES: Cases = {
    "sort-by-integer-keys": [
        Case("8x16384", lambda x: jnp.sort(x, axis=-1) * 2.0, (f32(8, 16384),), "sorting/floats"),
        Case("256x1024", lambda x: -jnp.sort(-x, axis=-1), (f32(256, 1024),), "sorting/sparsemax"),
        Case("8x16, bf16", jnp.sort, (array(8, 16, dtype=jnp.bfloat16),), pays=False),
    ],
    "sort-along-minor + sort-by-integer-keys": [
        Case("16384x16, quartiles of columns", quartiles, (f32(16384, 16),), "sorting/quantiles")
    ],
    "sort-along-minor": [
        Case("4096x16", lambda x: jnp.sort(x, axis=0), (f32(4096, 16),), pays=False),
        Case("1024x1024, s32", lambda x: jnp.sort(x, axis=0), (s32(1024, 1024),)),
    ],
    "sort-along-minor + sort-by-packed-keys": [
        Case(
            "4096x64, argsort of columns",
            lambda x: jnp.argsort(x, axis=0),
            (f32(4096, 64),),
            "optimal-transport/sliced",
        )
    ],
    "sort-by-packed-keys": [
        Case("32768, s32, argsort", jnp.argsort, (s32(32768),), "sorting/grouped"),
        Case("64x4096, pairs", sorted_pairs, (f32(64, 4096), f32(64, 4096))),
        Case("256, argsort in a loop", elites, (f32(256),), "evolution/snes"),
        Case("128, argsort", jnp.argsort, (f32(128),), pays=False),
    ],
    "sort-as-network": [
        Case("25x128x128, median", median, (f32(25, 128, 128),), "image-processing/median"),
        Case("8x4096, mean of the middle", clipped_mean, (f32(8, 4096),)),
        Case("4096x16, rows", lambda x: jnp.sort(x, axis=-1), (f32(4096, 16),)),
        Case("32x8, columns", lambda x: jnp.sort(x, axis=0), (f32(32, 8),), pays=False),
    ],
    "gather-at-constant-as-slice + sort-as-network": [
        Case("25x128x128, median", median, (f32(25, 128, 128),), "image-processing/median")
    ],
    "sort-by-permutation-as-scatter": [
        Case("4096x16, ranks", ranks, (f32(4096, 16),), "sorting/ranks")
    ],
    "sort-by-permutation-as-scatter + sort-along-minor + sort-by-packed-keys": [
        Case("4096x16, ranks", ranks, (f32(4096, 16),), "sorting/ranks")
    ],
    "argmax-as-first-maximum": [
        Case("16384x64", labels, (f32(16384, 64),), "k-means/lloyd-segments"),
        Case("4096x32", labels, (f32(4096, 32),), "one-hot-product/confusion"),
        Case("8x32768", labels, (f32(8, 32768),), "gpt2/sampled-step"),
        Case("128x128, major", best_before, (f32(128, 128),), "hidden-markov/viterbi"),
        Case("32x16x16", labels, (f32(32, 16, 16),), pays=False),
    ],
}


def _both(values: jax.Array, dimension: int) -> tuple[jax.Array, jax.Array]:
    return jnp.sort(tied(values), axis=dimension), jnp.sort(values, axis=dimension)


def small_sorts(rng: Random) -> str:
    """Draws sorts along a dimension of at most 32 elements."""
    dimension = rng.randint(0, 2)
    shape = [rng.randint(3, 4), rng.randint(3, 4)]
    shape.insert(dimension, rng.randint(2, 32))
    values = array(*shape, dtype=rng.choice(FLOATS + INTEGERS))
    return lowered(lambda values: _both(values, dimension), values)


def sorts(rng: Random, *, minor: bool) -> str:
    """Draws sorts along any dimension, or with minor=False along any but the last."""
    shape, dimension = draw_shape(rng)
    if not minor:
        shape, dimension = (*shape, rng.randint(1, 4)), min(dimension, len(shape) - 1)
    values = array(*shape, dtype=rng.choice(FLOATS))
    return lowered(lambda values: _both(values, dimension), values)


def pairs(rng: Random, *, minor: bool) -> str:
    """Draws sorts with what goes along, along the last dimension or along any but that."""
    shape, dimension = draw_shape(rng)
    dimension = len(shape) - 1 if minor else dimension
    if not minor:
        shape = (*shape, rng.randint(1, 4))
    dtype = rng.choice(FLOATS + INTEGERS)

    def function(values: jax.Array, carried: jax.Array) -> Any:
        order = jnp.argsort(tied(values), axis=dimension)
        pair = jax.lax.sort((tied(values), carried), dimension=dimension, num_keys=1)
        return order, pair

    return lowered(function, array(*shape, dtype=dtype), f32(*shape))


def draw_ranks(rng: Random) -> str:
    """Draws sorts by what another sort or top-k has ordered."""
    shape, dimension = draw_shape(rng)
    by_top_k = rng.random() < 0.5

    def function(values: jax.Array, carried: jax.Array) -> Any:
        if by_top_k:
            order = jax.lax.top_k(values, values.shape[-1])[1]
            return jax.lax.sort((order, carried), dimension=values.ndim - 1, num_keys=1)
        order = jnp.argsort(tied(values), axis=dimension)
        return jnp.argsort(order, axis=dimension)

    return lowered(function, f32(*shape), f32(*shape))


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

    return lowered(function, f32(*shape))


def _last_maximum(values: jax.Array) -> jax.Array:
    def later(kept: Any, given: Any) -> Any:
        is_greater = kept[0] > given[0]
        return jnp.maximum(kept[0], given[0]), jnp.where(is_greater, kept[1], given[1])

    start = (jnp.float32(-jnp.inf), jnp.int32(0))
    return 7 - jax.lax.reduce((values, jax.lax.iota(jnp.int32, 8)), start, later, (0,))[1]


PROGRAMS: Programs = {
    "sort-as-network": small_sorts,
    "gather-at-constant-as-slice": medians,
    "sort-along-minor": lambda rng: rng.choice((sorts, pairs))(rng, minor=False),
    "sort-by-integer-keys": lambda rng: sorts(rng, minor=True),
    "sort-by-packed-keys": lambda rng: pairs(rng, minor=True),
    "sort-by-permutation-as-scatter": draw_ranks,
    "argmax-as-first-maximum": positions,
}

REFUSED: Refused = {
    "gather-at-constant-as-slice": {
        "position that is an argument": program(lambda x, i: x[i], f32(8, 3), s32()),
        "several positions": program(lambda x: x[jnp.array([1, 4])], f32(8, 3)),
    },
    "sort-as-network": {
        "more than 32 elements": program(lambda x: jnp.sort(x, axis=0), f32(33, 16)),
        "few rows": program(lambda x: jnp.sort(x, axis=0), f32(16, 7)),
        "positions that go along": program(lambda x: jnp.argsort(x, axis=0), f32(16, 16)),
    },
    "sort-along-minor": {
        "last dimension": program(lambda x: jnp.sort(x, axis=-1), f32(3, 8)),
        "first dimension, two keys": program(
            lambda x: jax.lax.sort((x, -x), dimension=0, num_keys=2)[0], f32(8, 3)
        ),
    },
    "sort-by-integer-keys": {
        "integers": program(jnp.sort, s32(3, 8)),
        "carried array": program(jnp.argsort, f32(3, 8)),
    },
    "sort-by-packed-keys": {
        "two keys": program(total_order, f32(3, 8)),
        "not stable": program(
            lambda x: jax.lax.sort((x, x * 2), num_keys=1, is_stable=False), f32(8)
        ),
    },
    "sort-by-permutation-as-scatter": {
        "key that is no permutation": program(lambda x: jnp.argsort(x), s32(3, 8)),
        "top-k of some": program(lambda x: jnp.argsort(jax.lax.top_k(x, 5)[1]), f32(3, 8)),
        "permutation along another dimension": program(
            lambda x: jnp.argsort(jnp.argsort(x, axis=0), axis=1), f32(3, 8)
        ),
    },
    "argmax-as-first-maximum": {
        "last of equal elements": program(_last_maximum, f32(8)),
        "greatest element itself": program(lambda x: jnp.max(x, axis=1), f32(3, 8)),
    },
}
