"""Cases of one-hot products, gathers and scatters."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.speed_rules.case import Case, floats


def labels(count: int, classes: int) -> np.ndarray:
    """Returns random labels."""
    return np.random.default_rng(0).integers(0, classes, count).astype(np.int32)


def class_sums(classes: int):  # noqa: ANN201
    """Returns a function that sums rows by label."""
    return lambda labels, rows: jax.nn.one_hot(labels, classes).T @ rows


def embedded(labels: jax.Array, table: jax.Array) -> jax.Array:
    """Returns rows of a table, as a product with one-hot labels."""
    return jax.nn.one_hot(labels, len(table)) @ table


def chosen(labels: jax.Array, scores: jax.Array) -> jax.Array:
    """Returns the score of each label."""
    return jnp.sum(jax.nn.one_hot(labels, scores.shape[-1]) * scores, axis=-1)


def entropies(labels: jax.Array, logits: jax.Array) -> jax.Array:
    """Returns cross entropies of one-hot labels."""
    marks = jax.nn.one_hot(labels, logits.shape[-1])
    return -jnp.sum(marks * jax.nn.log_softmax(logits), axis=-1)


def projected(nodes: jax.Array, senders: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns the projected features of the senders of edges."""
    return jnp.tanh(nodes[senders] @ weights)


def edge_update(
    nodes: jax.Array, edges: jax.Array, senders: jax.Array, receivers: jax.Array, weights: jax.Array
) -> jax.Array:
    """Returns new features of edges from theirs and those of both ends."""
    features = jnp.concatenate([nodes[senders], nodes[receivers], edges], axis=1)
    return jax.nn.relu(features @ weights)


def scored(nodes: jax.Array, senders: jax.Array, receivers: jax.Array) -> jax.Array:
    """Returns sums of features that are weighted by an expensive function of the senders."""
    return jax.ops.segment_sum(jnp.tanh(nodes[senders]), receivers, len(nodes))


def two_layers(
    nodes: jax.Array, senders: jax.Array, bias: jax.Array, first: jax.Array, second: jax.Array
) -> jax.Array:
    """Returns the output of two layers for the senders of edges."""
    return jnp.tanh(nodes[senders] @ first + bias) @ second


BEFORE_GATHER = ("pointwise-before-gather",)

CASES: tuple[Case, ...] = (
    Case(
        ("one-hot-as-scatter",),
        "4096 to 32, width 16",
        class_sums(32),
        (labels(4096, 32), np.ones((4096, 16), np.float32)),
        program="k-means/lloyd/n4096-k32-d16",
    ),
    Case(
        ("one-hot-as-scatter",),
        "4096 to 512, width 64",
        class_sums(512),
        (labels(4096, 512), np.ones((4096, 64), np.float32)),
    ),
    Case(
        ("one-hot-as-gather",),
        "1024 of 2048, width 64",
        embedded,
        (labels(1024, 2048), np.ones((2048, 64), np.float32)),
        program="one-hot-product/embedded/n1024-v2048-d64",
    ),
    Case(
        ("one-hot-as-gather",),
        "4096 of 512, width 64",
        embedded,
        (labels(4096, 512), np.ones((512, 64), np.float32)),
    ),
    Case(
        ("one-hot-as-gather",),
        "4096 of 32, width 16",
        embedded,
        (labels(4096, 32), np.ones((32, 16), np.float32)),
    ),
    Case(
        ("one-hot-sum-as-gather",),
        "4096 of 1000",
        chosen,
        (labels(4096, 1000), np.ones((4096, 1000), np.float32)),
    ),
    Case(
        ("one-hot-sum-as-gather",),
        "1024 of 8192, cross entropy",
        entropies,
        (labels(1024, 8192), np.ones((1024, 8192), np.float32)),
        pays=False,
    ),
    Case(
        ("gather-after-dot",),
        "16384 edges of 4096 nodes, width 128",
        projected,
        (floats(4096, 128), labels(16384, 4096), floats(128, 128)),
    ),
    Case(
        BEFORE_GATHER,
        "16384 edges of 2048 nodes, width 64, tanh",
        scored,
        (floats(2048, 64), labels(16384, 2048), labels(16384, 2048)),
        pays=False,
    ),
    Case(
        ("gather-after-dot", *BEFORE_GATHER, *BEFORE_GATHER, "gather-after-dot"),
        "16384 edges of 2048 nodes, two layers of width 64",
        two_layers,
        (
            floats(2048, 64),
            labels(16384, 2048),
            floats(64),
            floats(64, 64),
            floats(64, 64),
        ),
    ),
    Case(
        ("gather-after-dot",),
        "16384 edges of 2048 nodes, width 64",
        projected,
        (floats(2048, 64), labels(16384, 2048), floats(64, 64)),
        program="gather-project/sums/n2048-e16384-d64",
    ),
    Case(
        ("gather-after-dot",),
        "8192 edges of 2048 nodes, width 64, both ends and the edge",
        edge_update,
        (
            floats(2048, 64),
            floats(8192, 64),
            labels(8192, 2048),
            labels(8192, 2048),
            floats(192, 64),
        ),
    ),
)
