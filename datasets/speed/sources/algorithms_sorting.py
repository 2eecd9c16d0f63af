"""Sorting and searching: orders, ranks, quantiles, neighbours, histograms, groups, selection."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from recipe import Recipe, array, key
from speed.programs import Program, program_recipes

LIBRARY = "jax"


def ranks(first: jax.Array, second: jax.Array) -> jax.Array:
    """Returns Spearman's correlation of each pair of columns, ranks by sorting twice."""

    def ranked(values: jax.Array) -> jax.Array:
        order = jnp.argsort(jnp.argsort(values, axis=0), axis=0).astype(jnp.float32)
        centred = order - order.mean(axis=0)
        return centred / jnp.linalg.norm(centred, axis=0)

    return ranked(first).T @ ranked(second)


def quantiles(values: jax.Array) -> jax.Array:
    """Returns values scaled by median and quartiles, as robust preprocessing does."""
    low, middle, high = jnp.quantile(values, jnp.array([0.25, 0.5, 0.75]), axis=0)
    return jnp.clip((values - middle) / (high - low + 1e-6), -3.0, 3.0)


def sparsemax(scores: jax.Array) -> jax.Array:
    """Returns rows projected on the simplex, by sorting and cumulative sums."""
    ordered = -jnp.sort(-scores, axis=-1)
    sums = jnp.cumsum(ordered, axis=-1)
    count = jnp.arange(1, scores.shape[-1] + 1)
    support = jnp.sum(1 + count * ordered > sums, axis=-1, keepdims=True)
    threshold = (jnp.take_along_axis(sums, support - 1, axis=-1) - 1) / support
    return jnp.maximum(scores - threshold, 0.0)


def nucleus(logits: jax.Array, rng: jax.Array) -> jax.Array:
    """Draws tokens from the least set of words that has a probability of 0.9."""
    ordered = jnp.sort(logits, axis=-1)[:, ::-1]
    heights = jnp.cumsum(jax.nn.softmax(ordered, axis=-1), axis=-1)
    last = jnp.sum(heights < 0.9, axis=-1, keepdims=True)
    least = jnp.take_along_axis(ordered, last, axis=-1)
    return jax.random.categorical(rng, jnp.where(logits < least, -jnp.inf, logits), axis=-1)


def neighbours(points: jax.Array, queries: jax.Array, values: jax.Array) -> jax.Array:
    """Returns means of the 16 nearest points' values, weighted by distance."""
    lengths = jnp.sum(queries**2, axis=1)[:, None] + jnp.sum(points**2, axis=1)
    distances = lengths - 2 * queries @ points.T
    negative, nearest = jax.lax.top_k(-distances, 16)
    weights = jax.nn.softmax(negative, axis=1)
    return jnp.einsum("qk,qkd->qd", weights, values[nearest])


def hamming(codes: jax.Array, queries: jax.Array) -> Any:
    """Returns the eight nearest binary codes by counting bits that differ."""
    codes, queries = (jax.lax.bitcast_convert_type(each, jnp.uint32) for each in (codes, queries))
    apart = jax.lax.population_count(queries[:, None] ^ codes[None]).sum(axis=-1)
    return jax.lax.top_k(-apart.astype(jnp.int32), 8)


def histograms(values: jax.Array) -> Any:
    """Returns a histogram of values, its cumulative heights and values made even by them."""
    counts, edges = jnp.histogram(values, bins=256)
    heights = jnp.cumsum(counts) / values.size
    return jnp.interp(values, edges[1:], heights), counts


def inverse_sampling(table: jax.Array, draws: jax.Array) -> jax.Array:
    """Returns where draws fall in sorted tables, by binary search."""
    ordered = jnp.sort(table, axis=-1)
    return jax.vmap(jnp.searchsorted)(ordered, draws)


def grouped(keys: jax.Array, values: jax.Array) -> Any:
    """Returns sums, means and maxima of values by key, after sorting by key."""
    order = jnp.argsort(keys)
    keys, values = keys[order], values[order]
    change = jnp.concatenate([jnp.ones(1, bool), keys[1:] != keys[:-1]])
    group = jnp.cumsum(change) - 1
    sums = jax.ops.segment_sum(values, group, 512, indices_are_sorted=True)
    counts = jax.ops.segment_sum(jnp.ones(len(values)), group, 512, indices_are_sorted=True)
    most = jax.ops.segment_max(values, group, 512, indices_are_sorted=True)
    return sums, sums / jnp.maximum(counts, 1)[:, None], jnp.where(counts[:, None] > 0, most, 0.0)


def distinct(values: jax.Array) -> Any:
    """Returns distinct values of coarse numbers with their counts and inverse."""
    coarse = jnp.round(values * 50).astype(jnp.int32)
    return jnp.unique(coarse, size=256, return_counts=True, return_inverse=True)


def lexical(first: jax.Array, second: jax.Array, third: jax.Array) -> jax.Array:
    """Returns rows in the order of three columns, the first two coarse."""
    order = jnp.lexsort((third, jnp.round(second * 4), jnp.round(first * 2)))
    return jnp.stack([first, second, third], axis=1)[order]


def suppression(centres: jax.Array, sizes: jax.Array, scores: jax.Array) -> Any:
    """Returns boxes that no better box overlaps, of the 512 best (non-maximum suppression)."""
    best, order = jax.lax.top_k(scores, 512)
    half = 0.5 * jax.nn.softplus(sizes[order])
    low, high = centres[order] - half, centres[order] + half
    inner = jnp.minimum(high[:, None], high) - jnp.maximum(low[:, None], low)
    shared = jnp.prod(jnp.maximum(inner, 0.0), axis=-1)
    area = jnp.prod(high - low, axis=-1)
    overlap = shared / (area[:, None] + area - shared) > 0.5

    def keep(index: int, kept: jax.Array) -> jax.Array:
        later = jnp.arange(512) > index
        return jnp.where(kept[index], kept & ~(overlap[index] & later), kept)

    kept = jax.lax.fori_loop(0, 512, keep, jnp.ones(512, bool))
    return jnp.where(kept, best, 0.0)[:100], order[:100], kept


def bitonic(values: jax.Array) -> jax.Array:
    """Sorts rows by a bitonic network of compare and exchange."""
    size = values.shape[-1]
    index = jnp.arange(size)
    block = 2
    while block <= size:
        step = block // 2
        while step:
            other = values[..., index ^ step]
            smaller = ((index & block) == 0) == ((index & step) == 0)
            values = jnp.where(smaller, jnp.minimum(values, other), jnp.maximum(values, other))
            step //= 2
        block *= 2
    return values


def beams(logits: jax.Array, scores: jax.Array) -> Any:
    """Returns the best continuations of beams of a batch, over as many steps as logits."""

    def step(scores: jax.Array, logits: jax.Array) -> Any:
        total = scores[..., None] + jax.nn.log_softmax(logits, axis=-1)
        best, place = jax.lax.top_k(total.reshape(len(total), -1), scores.shape[-1])
        return best, (place // logits.shape[-1], place % logits.shape[-1])

    return jax.lax.scan(step, scores, logits)


def recipes() -> Iterator[Recipe]:
    """Yields sorting and searching."""
    column = array(32768)
    programs = (
        ("sorting/ranks/n4096-d16", ranks, (array(4096, 16), array(4096, 16))),
        ("sorting/quantiles/n16384-d16", quantiles, (array(16384, 16),)),
        ("sorting/sparsemax/b256-n1024", sparsemax, (array(256, 1024),)),
        ("sorting/nucleus/b8-v16384", nucleus, (array(8, 16384), key())),
        ("sorting/lexical/n32768", lexical, (column, column, column)),
        ("sorting/grouped/n32768-d8", grouped, (array(32768, dtype=jnp.int32), array(32768, 8))),
        ("sorting/distinct/n32768", distinct, (column,)),
        ("sorting/bitonic/b16-n1024", bitonic, (array(16, 1024),)),
        (
            "nearest-neighbours/weighted/n8192-q256",
            neighbours,
            (array(8192, 32), array(256, 32), array(8192, 8)),
        ),
        (
            "nearest-neighbours/hamming/n16384-q32",
            hamming,
            (array(16384, 8), array(32, 8)),
        ),
        ("searching/histograms/n65536", histograms, (array(65536),)),
        ("searching/inverse-sampling/b16-n4096", inverse_sampling, (array(16, 4096),) * 2),
        (
            "searching/suppression/n4096",
            suppression,
            (array(4096, 2), array(4096, 2), array(4096)),
        ),
        ("searching/beams/b4-k8-v8192-t32", beams, (array(32, 4, 8, 8192), array(4, 8))),
    )
    for name, function, arguments in programs:
        words = " ".join(name.split("/")[:2])
        yield from program_recipes(LIBRARY, [Program(name, words, function, arguments)])
