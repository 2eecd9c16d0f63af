"""Operations that are reported to be slow in XLA:CPU: sorting, sums, gathers, transposes."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from recipe import Recipe, array
from speed.programs import Program, program_recipes

LIBRARY = "jax"


def last_sorted(values: jax.Array) -> jax.Array:
    """Returns the 50 greatest values of rows, by sorting whole rows."""
    return jnp.sort(values, axis=-1)[:, -50:]


def first_ordered(scores: jax.Array) -> Any:
    """Returns places and values of the ten greatest scores of rows, by sorting whole rows."""
    order = jnp.argsort(-scores, axis=-1)[:, :10]
    return order, jnp.take_along_axis(scores, order, axis=-1)


def retrieved(queries: jax.Array, library: jax.Array, values: jax.Array) -> jax.Array:
    """Returns mixtures of the values whose keys are nearest, found by sorting all scores."""
    scores = queries @ library.T
    order = jnp.argsort(-scores, axis=-1)[:, :8]
    weights = jax.nn.softmax(jnp.take_along_axis(scores, order, axis=-1), axis=-1)
    return jnp.einsum("qk,qkd->qd", weights, values[order])


def trimmed(values: jax.Array) -> jax.Array:
    """Returns rows without their extremes: means of sorted values between two ranks."""
    size = values.shape[-1]
    return jnp.sort(values, axis=-1)[:, -size // 10 :].mean(axis=-1)


def sorted_softmax(values: jax.Array) -> jax.Array:
    """Returns softmax of sorted floats."""
    return jax.nn.softmax(jnp.sort(values, axis=-1), axis=-1)


def one_hot_sums(labels: jax.Array, rows: jax.Array) -> jax.Array:
    """Returns means of rows by label, as the product of a one-hot matrix with them."""
    members = jax.nn.one_hot(labels, 32)
    return (members.T @ rows) / jnp.maximum(members.sum(axis=0), 1.0)[:, None]


def confusion(labels: jax.Array, logits: jax.Array) -> Any:
    """Returns a confusion matrix and scores by class, by products of one-hot matrices."""
    truth = jax.nn.one_hot(labels, 32)
    guess = jax.nn.one_hot(logits.argmax(axis=-1), 32)
    table = truth.T @ guess
    right = jnp.diagonal(table)
    precision = right / jnp.maximum(table.sum(axis=0), 1.0)
    recall = right / jnp.maximum(table.sum(axis=1), 1.0)
    return table, 2 * precision * recall / jnp.maximum(precision + recall, 1e-6)


def embedded(tokens: jax.Array, table: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns embeddings of tokens, looked up by a product with a one-hot matrix."""
    return jnp.tanh((jax.nn.one_hot(tokens, table.shape[0]) @ table) @ weights)


def broadcast_distances(points: jax.Array, centres: jax.Array) -> jax.Array:
    """Returns squared distances by broadcast."""
    return jnp.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=-1)


def kernel_product(points: jax.Array, values: jax.Array, length: jax.Array) -> jax.Array:
    """Returns a Gaussian kernel of points times values, distances by broadcast."""
    apart = (points[:, None] - points[None]) / (0.5 + length)
    return jnp.exp(-0.5 * jnp.sum(apart**2, axis=-1)) @ values


def radial_layer(points: jax.Array, centres: jax.Array, weights: jax.Array) -> Any:
    """Returns a layer of radial functions and its gradient for the centres."""

    def loss(centres: jax.Array) -> jax.Array:
        distance = jnp.linalg.norm(points[:, None] - centres[None] + 1e-6, axis=-1)
        return jnp.mean((jnp.exp(-distance) @ weights) ** 2)

    return jax.value_and_grad(loss)(centres)


def gathered(features: jax.Array, edges: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns sums of edges' messages: features gathered, then projected."""
    sent = jax.nn.relu(features[edges[:, 0]] @ weights)
    return jax.ops.segment_sum(sent, edges[:, 1], features.shape[0])


def gathered_pairs(features: jax.Array, edges: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns attention over edges: both ends gathered, joined, then projected."""
    ends = jnp.concatenate([features[edges[:, 0]], features[edges[:, 1]]], axis=-1)
    message = jnp.tanh(ends @ weights)
    score = jnp.exp(message.mean(axis=-1, keepdims=True))
    total = jax.ops.segment_sum(score, edges[:, 1], features.shape[0])
    mixed = jax.ops.segment_sum(score * message, edges[:, 1], features.shape[0])
    return mixed / (total + 1e-6)


def transposed_sum(first: jax.Array, second: jax.Array) -> jax.Array:
    """Returns a function of an array and a transposed one."""
    return jnp.tanh(first + jnp.transpose(second, (2, 1, 0)) * 0.5) * first


def heads(tokens: jax.Array, scale: jax.Array) -> jax.Array:
    """Returns tokens by head, turned by their place, as attention wants its keys."""
    batch, time, width = tokens.shape
    x = tokens.reshape(batch, time, 8, width // 8).transpose(0, 2, 3, 1)
    return x * jnp.cos(jnp.arange(time) * 0.01) + scale * jnp.flip(x, axis=2)


def cumulative(values: jax.Array) -> jax.Array:
    """Returns cumulative sums of rows."""
    return jnp.cumsum(values, axis=-1)


def decayed(values: jax.Array, rates: jax.Array) -> jax.Array:
    """Returns decayed sums over time by an associative scan."""

    def combine(first: Any, second: Any) -> Any:
        return first[0] * second[0], second[1] + second[0] * first[1]

    pair = (jax.nn.sigmoid(rates), values)
    return jax.lax.associative_scan(combine, pair, axis=1)[1]


def recipes() -> Iterator[Recipe]:
    """Yields the operations."""
    edges, labels = array(16384, 2, dtype=jnp.int32), array(4096, dtype=jnp.int32)
    programs = (
        ("selection/last-sorted/b16-n8192", last_sorted, (array(16, 8192),)),
        ("selection/first-ordered/b64-n8192", first_ordered, (array(64, 8192),)),
        (
            "selection/retrieved/q64-n4096-d32",
            retrieved,
            (array(64, 32), array(4096, 32), array(4096, 32)),
        ),
        ("selection/trimmed/b64-n4096", trimmed, (array(64, 4096),)),
        ("sorting/floats/b8-n16384", lambda x: jnp.sort(x, axis=-1) * 2.0, (array(8, 16384),)),
        ("sorting/softmax/b16-n4096", sorted_softmax, (array(16, 4096),)),
        ("one-hot-product/sums/n4096-d256", one_hot_sums, (labels, array(4096, 256))),
        ("one-hot-product/confusion/n4096", confusion, (labels, array(4096, 32))),
        (
            "one-hot-product/embedded/n1024-v2048-d64",
            embedded,
            (array(1024, dtype=jnp.int32), array(2048, 64), array(64, 64)),
        ),
        (
            "pairwise-distance/broadcast/n4096-k32-d16",
            broadcast_distances,
            (array(4096, 16), array(32, 16)),
        ),
        ("pairwise-distance/kernel/n768-d8", kernel_product, kernels(768, 8)),
        (
            "pairwise-distance/radial/n1024-k64-d8",
            radial_layer,
            (array(1024, 8), array(64, 8), array(64, 4)),
        ),
        (
            "gather-project/sums/n2048-e16384-d64",
            gathered,
            (array(2048, 64), edges, array(64, 64)),
        ),
        (
            "gather-project/pairs/n2048-e16384-d32",
            gathered_pairs,
            (array(2048, 32), edges, array(64, 32)),
        ),
        ("transpose/sum/n64", transposed_sum, (array(64, 64, 64), array(64, 64, 64))),
        ("transpose/heads/b4-t512-d256", heads, (array(4, 512, 256), array())),
        ("cumulative-sum/rows/b16-n8192", cumulative, (array(16, 8192),)),
        ("cumulative-sum/decayed/b8-t1024-d64", decayed, (array(8, 1024, 64),) * 2),
    )
    for name, function, arguments in programs:
        words = f"reported case: {name.split('/')[0]}, {name.split('/')[1]}"
        yield from program_recipes(LIBRARY, [Program(name, words, function, arguments)])


def kernels(count: int, width: int) -> tuple[Any, ...]:
    """Returns the arguments of `kernel_product`."""
    return array(count, width), array(count, 16), array()
