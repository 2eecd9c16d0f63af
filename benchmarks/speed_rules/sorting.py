"""Cases of sorting."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.case import Case, floats

PREFIX = ("sort-prefix-as-top-k",)
INTEGERS = ("top-k-by-float-keys",)
KEYS = ("sort-by-integer-keys",)
PACKED = ("sort-by-packed-keys",)
MANY = ("top-k-by-packed-keys",)
GROUPS = ("top-k-of-groups",)
NETWORK = ("sort-as-network",)
ELEMENT = "gather-at-constant-as-slice"
MINOR = "sort-along-minor"
PERMUTATION = ("sort-by-permutation-as-scatter",)
ARGMAX = ("argmax-as-first-maximum",)


def integers(*shape: int) -> jax.ShapeDtypeStruct:
    """Returns the shape of an array of integers."""
    return jax.ShapeDtypeStruct(shape, jnp.int32)


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


CASES: tuple[Case, ...] = (
    Case(PREFIX, "16x8192, last 50", last_sorted, (floats(16, 8192),), "selection/last-sorted"),
    Case(
        PREFIX,
        "64x8192, first 10 of argsort",
        first_ordered,
        (floats(64, 8192),),
        "selection/first-ordered",
    ),
    Case(PREFIX, "64x4096, last 410", trimmed, (floats(64, 4096),), "selection/trimmed"),
    Case(PREFIX, "64x4096, last 2048", upper_half, (floats(64, 4096),)),
    Case(PREFIX, "8x16384, first 10 of the reverse", flipped, (floats(8, 16384),)),
    Case(PREFIX, "128, first 64 of argsort", elite, (floats(128),), "evolution/ars", pays=False),
    Case(
        INTEGERS,
        "32x16384, k 8",
        nearest_codes,
        (integers(32, 16384),),
        "nearest-neighbours/hamming",
    ),
    Case(MANY, "2x8192, all", all_ordered, (floats(2, 8192),), "llama/sample-topp"),
    Case(MANY, "64x4096, k 512", lambda x: jax.lax.top_k(x, 512), (floats(64, 4096),), pays=False),
    Case(GROUPS, "256x8192, k 16", nearest, (floats(256, 8192),), "nearest-neighbours/weighted"),
    Case(GROUPS, "8x50257, k 50", most_likely, (floats(8, 50257),), "gpt2/sample-topk"),
    Case(GROUPS, "1x1048576, k 16", nearest, (floats(1, 1048576),)),
    Case(GROUPS, "64x1024, k 16", nearest, (floats(64, 1024),), pays=False),
    Case(
        KEYS,
        "8x16384",
        lambda x: jnp.sort(x, axis=-1) * 2.0,
        (floats(8, 16384),),
        "sorting/floats",
    ),
    Case(
        KEYS,
        "256x1024",
        lambda x: -jnp.sort(-x, axis=-1),
        (floats(256, 1024),),
        "sorting/sparsemax",
    ),
    Case(KEYS, "8x16, bf16", jnp.sort, (floats(8, 16, dtype=jnp.bfloat16),), pays=False),
    Case(
        (MINOR, *KEYS),
        "16384x16, quartiles of columns",
        quartiles,
        (floats(16384, 16),),
        "sorting/quantiles",
    ),
    Case((MINOR,), "4096x16", lambda x: jnp.sort(x, axis=0), (floats(4096, 16),), pays=False),
    Case((MINOR,), "1024x1024, s32", lambda x: jnp.sort(x, axis=0), (integers(1024, 1024),)),
    Case(
        (MINOR, *PACKED),
        "4096x64, argsort of columns",
        lambda x: jnp.argsort(x, axis=0),
        (floats(4096, 64),),
        "optimal-transport/sliced",
    ),
    Case(PACKED, "32768, s32, argsort", jnp.argsort, (integers(32768),), "sorting/grouped"),
    Case(PACKED, "64x4096, pairs", sorted_pairs, (floats(64, 4096), floats(64, 4096))),
    Case(PACKED, "256, argsort in a loop", elites, (floats(256),), "evolution/snes"),
    Case(PACKED, "128, argsort", jnp.argsort, (floats(128),), pays=False),
    Case(NETWORK, "25x128x128, median", median, (floats(25, 128, 128),), "image-processing/median"),
    Case(
        (ELEMENT, *NETWORK),
        "25x128x128, median",
        median,
        (floats(25, 128, 128),),
        "image-processing/median",
    ),
    Case(NETWORK, "8x4096, mean of the middle", clipped_mean, (floats(8, 4096),)),
    Case(NETWORK, "4096x16, rows", lambda x: jnp.sort(x, axis=-1), (floats(4096, 16),)),
    Case(NETWORK, "32x8, columns", lambda x: jnp.sort(x, axis=0), (floats(32, 8),), pays=False),
    Case(PERMUTATION, "4096x16, ranks", ranks, (floats(4096, 16),), "sorting/ranks"),
    Case(
        (*PERMUTATION, MINOR, *PACKED),
        "4096x16, ranks",
        ranks,
        (floats(4096, 16),),
        "sorting/ranks",
    ),
    Case(ARGMAX, "16384x64", labels, (floats(16384, 64),), "k-means/lloyd-segments"),
    Case(ARGMAX, "4096x32", labels, (floats(4096, 32),), "one-hot-product/confusion"),
    Case(ARGMAX, "8x32768", labels, (floats(8, 32768),), "gpt2/sampled-step"),
    Case(ARGMAX, "128x128, major", best_before, (floats(128, 128),), "hidden-markov/viterbi"),
    Case(ARGMAX, "32x16x16", labels, (floats(32, 16, 16),), pays=False),
)
