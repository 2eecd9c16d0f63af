"""Rules about the greatest elements: top-k, and sorts of which a part is taken."""

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
from benchmarks.speed_rules.topics.sorting import FLOATS, INTEGERS, draw_shape, tied, total_order


def last_sorted(values: jax.Array) -> jax.Array:
    """Returns the 50 greatest values of rows."""
    return jnp.sort(values, axis=-1)[:, -50:]


def trimmed(values: jax.Array) -> jax.Array:
    """Returns means of the greatest tenth of rows."""
    return jnp.sort(values, axis=-1)[:, -values.shape[-1] // 10 :].mean(axis=-1)


def upper_half(values: jax.Array) -> jax.Array:
    """Returns means of the greater half of rows."""
    return jnp.sort(values, axis=-1)[:, -(values.shape[-1] // 2) :].mean(axis=-1)


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


def nearest_codes(distances: jax.Array) -> Any:
    """Returns the eight least integer distances of rows."""
    return jax.lax.top_k(-distances, 8)


def all_ordered(scores: jax.Array) -> Any:
    """Returns all scores of rows, the greatest first, as sampling from a nucleus does."""
    return jax.lax.top_k(scores, scores.shape[-1])


def most_likely(logits: jax.Array) -> Any:
    """Returns the 50 greatest of each row, as sampling from them does."""
    return jax.lax.top_k(logits, 50)


def nearest(distances: jax.Array) -> Any:
    """Returns the 16 least distances of each row."""
    return jax.lax.top_k(-distances, 16)


CASES: Cases = {
    "sort-prefix-as-top-k": [
        Case("16x8192, last 50", last_sorted, (f32(16, 8192),), "selection/last-sorted"),
        Case(
            "64x8192, first 10 of argsort",
            first_ordered,
            (f32(64, 8192),),
            "selection/first-ordered",
        ),
        Case("64x4096, last 410", trimmed, (f32(64, 4096),), "selection/trimmed"),
        Case("64x4096, last 2048", upper_half, (f32(64, 4096),)),
        Case("8x16384, first 10 of the reverse", flipped, (f32(8, 16384),)),
        Case("128, first 64 of argsort", elite, (f32(128),), "evolution/ars", pays=False),
    ],
    "top-k-by-float-keys": [
        Case("32x16384, k 8", nearest_codes, (s32(32, 16384),), "nearest-neighbours/hamming")
    ],
    "top-k-by-packed-keys": [
        Case("2x8192, all", all_ordered, (f32(2, 8192),), "llama/sample-topp"),
        Case("64x4096, k 512", lambda x: jax.lax.top_k(x, 512), (f32(64, 4096),), pays=False),
    ],
    "top-k-of-groups": [
        Case("256x8192, k 16", nearest, (f32(256, 8192),), "nearest-neighbours/weighted"),
        Case("8x50257, k 50", most_likely, (f32(8, 50257),), "gpt2/sample-topk"),
        Case("1x1048576, k 16", nearest, (f32(1, 1048576),)),
        Case("64x1024, k 16", nearest, (f32(64, 1024),), pays=False),
    ],
}


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
            return jax.lax.slice_in_dim(ordered, start, start + size, stride, dimension)

        if kind == "sort":
            return part(jnp.sort(values, axis=dimension))
        if kind == "argsort":
            return part(jnp.argsort(values, axis=dimension))
        carried = jnp.cumsum(jnp.ones(shape), axis=dimension)
        pair = jax.lax.sort((values, carried), dimension=dimension, num_keys=1)
        return tuple(map(part, pair))

    return lowered(function, array(*shape, dtype=dtype))


def _top_k(count: int, values: jax.ShapeDtypeStruct) -> str:
    return lowered(lambda x: (jax.lax.top_k(x, count), jax.lax.top_k(tied(x), count)), values)


def integer_top_k(rng: Random) -> str:
    """Draws the greatest of integers."""
    shape = (*draw_shape(rng)[0], rng.randint(3, 9))
    count = rng.randint(1, shape[-1] - 1)
    return _top_k(count, array(*shape, dtype=rng.choice(INTEGERS)))


def large_top_k(rng: Random) -> str:
    """Draws the greatest of each row, at least an eighth of it."""
    shape = (*draw_shape(rng)[0], rng.randint(3, 24))
    count = rng.randint(-(-shape[-1] // 8), shape[-1])
    return _top_k(count, array(*shape, dtype=rng.choice((jnp.float32, *INTEGERS))))


def grouped_top_k(rng: Random) -> str:
    """Draws the few greatest of long rows."""
    rows = [rng.randint(1, 3) for _ in range(rng.randint(0, 2))]
    count = rng.randint(1, 9)
    return _top_k(count, f32(*rows, rng.randint(32 * count, 48 * count)))


PROGRAMS: Programs = {
    "sort-prefix-as-top-k": prefixes,
    "top-k-by-float-keys": integer_top_k,
    "top-k-by-packed-keys": large_top_k,
    "top-k-of-groups": grouped_top_k,
}

REFUSED: Refused = {
    "sort-prefix-as-top-k": {
        "more than half of the elements": program(lambda x: jnp.sort(x)[:, :5], f32(3, 8)),
        "elements from the middle": program(lambda x: jnp.sort(x)[:, 3:6], f32(3, 9)),
        "slice along another dimension": program(lambda x: jnp.sort(x, axis=1)[:2], f32(8, 8)),
        "equal elements in any order": program(
            lambda x: jax.lax.sort((x, x * 2), num_keys=1, is_stable=False)[1][:2], f32(8)
        ),
        "prefix of a sort by two keys": program(lambda x: total_order(x)[:, :2], f32(3, 8)),
    },
    "top-k-by-float-keys": {
        "floats": program(lambda x: jax.lax.top_k(x, 3), f32(3, 8)),
        "all elements": program(lambda x: jax.lax.top_k(x, 8), s32(3, 8)),
    },
    "top-k-by-packed-keys": {
        "less than an eighth of the elements": program(lambda x: jax.lax.top_k(x, 2), f32(3, 17)),
        "sort in place of top-k": program(lambda x: jnp.argsort(x, axis=-1)[:, :3], f32(3, 8)),
    },
    "top-k-of-groups": {
        "groups that leave more than half of the elements": program(
            lambda x: jax.lax.top_k(x, 8), f32(3, 128)
        ),
        "groups of integers": program(lambda x: jax.lax.top_k(x, 2), s32(3, 256)),
        "more than 128 elements": program(lambda x: jax.lax.top_k(x, 129), f32(3, 8192)),
    },
}
