"""Rules about one-hot products, gathers and scatters."""

from __future__ import annotations

from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

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


CASES: Cases = {
    "one-hot-as-scatter": [
        Case(
            "4096 to 32, width 16",
            class_sums(32),
            (labels(4096, 32), np.ones((4096, 16), np.float32)),
            "k-means/lloyd/n4096-k32-d16",
        ),
        Case(
            "4096 to 512, width 64",
            class_sums(512),
            (labels(4096, 512), np.ones((4096, 64), np.float32)),
        ),
    ],
    "one-hot-as-gather": [
        Case(
            "1024 of 2048, width 64",
            embedded,
            (labels(1024, 2048), np.ones((2048, 64), np.float32)),
            "one-hot-product/embedded/n1024-v2048-d64",
        ),
        Case(
            "4096 of 512, width 64", embedded, (labels(4096, 512), np.ones((512, 64), np.float32))
        ),
        Case("4096 of 32, width 16", embedded, (labels(4096, 32), np.ones((32, 16), np.float32))),
    ],
    "one-hot-sum-as-gather": [
        Case("4096 of 1000", chosen, (labels(4096, 1000), np.ones((4096, 1000), np.float32))),
        Case(
            "1024 of 8192, cross entropy",
            entropies,
            (labels(1024, 8192), np.ones((1024, 8192), np.float32)),
            pays=False,
        ),
    ],
    "gather-after-dot": [
        Case(
            "16384 edges of 4096 nodes, width 128",
            projected,
            (f32(4096, 128), labels(16384, 4096), f32(128, 128)),
        ),
        Case(
            "16384 edges of 2048 nodes, width 64",
            projected,
            (f32(2048, 64), labels(16384, 2048), f32(64, 64)),
            "gather-project/sums/n2048-e16384-d64",
        ),
        Case(
            "8192 edges of 2048 nodes, width 64, both ends and the edge",
            edge_update,
            (f32(2048, 64), f32(8192, 64), labels(8192, 2048), labels(8192, 2048), f32(192, 64)),
        ),
    ],
    "pointwise-before-gather": [
        Case(
            "16384 edges of 2048 nodes, width 64, tanh",
            scored,
            (f32(2048, 64), labels(16384, 2048), labels(16384, 2048)),
            pays=False,
        )
    ],
    "gather-after-dot + pointwise-before-gather + pointwise-before-gather + gather-after-dot": [
        Case(
            "16384 edges of 2048 nodes, two layers of width 64",
            two_layers,
            (f32(2048, 64), labels(16384, 2048), f32(64), f32(64, 64), f32(64, 64)),
        )
    ],
}


def one_hot(labels: jax.Array, classes: int, kind: str) -> jax.Array:
    """Returns one-hot labels, written in one of several ways."""
    if kind == "last":
        return jax.nn.one_hot(labels, classes)
    if kind == "first":
        return jnp.moveaxis(jax.nn.one_hot(labels, classes, axis=0), 0, -1)
    match = labels[..., None] == jnp.arange(classes, dtype=labels.dtype)
    return jnp.where(match, 1.0, 0.0) if kind == "where" else match.astype(jnp.float32)


GATHERED = (
    "abk,kf->abf",
    "abk,fk->fab",
    "kf,abk->fab",
    "abk,akf->abf",
    "abk,bkf->baf",
    "abk,k->ab",
)
SCATTERED = (
    "abk,abf->kf",
    "abk,fab->fk",
    "abf,abk->fk",
    "abk,abf->akf",
    "abk,afb->bkf",
    "abk,ab->k",
)


def one_hot_products(rng: Random, equations: tuple[str, ...]) -> str:
    """Draws a product with one-hot labels, some of which are no class."""
    equation = rng.choice(equations)
    kind = rng.choice(["last", "first", "where", "match"])
    sizes = {letter: rng.randint(2, 5) for letter in "abkf"}
    dtype = rng.choice([jnp.int32, jnp.uint32])
    first, second = equation.split("->")[0].split(",")
    is_first = first == "abk"
    other = second if is_first else first

    def function(numbers: jax.Array, values: jax.Array) -> jax.Array:
        marks = one_hot(numbers % (sizes["k"] + 2), sizes["k"], kind)
        return jnp.einsum(equation, *((marks, values) if is_first else (values, marks)))

    shape = [sizes[letter] for letter in other]
    return lowered(function, array(sizes["a"], sizes["b"], dtype=dtype), f32(*shape))


def one_hot_sums(rng: Random) -> str:
    """Draws a sum of what one-hot labels choose."""
    classes = rng.randint(2, 6)
    shape = rng.choice([(5,), (3, 4)])
    axis = rng.choice([-1, 0])
    selects = rng.random() < 0.5

    def function(numbers: jax.Array, values: jax.Array) -> jax.Array:
        numbers = numbers % (classes + 2)
        if not selects:
            return jnp.sum(jax.nn.one_hot(numbers, classes, axis=axis) * values, axis=axis)
        classes_first = jnp.arange(classes).reshape(-1, *(1 for _ in shape))
        return jnp.sum(jnp.where(numbers == classes_first, values, 0.0), axis=0)

    sizes = (classes, *shape) if selects or axis == 0 else (*shape, classes)
    return lowered(function, s32(*shape), f32(*sizes))


def gathered_dots(rng: Random) -> str:
    """Draws a product of gathered rows, or of gathered rows beside others."""
    nodes, edges = rng.randint(2, 4), rng.choice([(6,), (2, 4)])
    width, features = rng.randint(1, 4), rng.choice([(3,), (2, 3)])
    parts = [rng.choice(["same", "other", "edge"]) for _ in range(rng.randint(0, 3))]

    def function(x: jax.Array, y: jax.Array, e: jax.Array, i: jax.Array, w: jax.Array) -> Any:
        columns = [x[i], *({"same": x[i], "other": y[i], "edge": e}[part] for part in parts)]
        return jnp.tensordot(jnp.concatenate(columns, axis=-1), w, 1)

    return lowered(
        function,
        f32(nodes, width),
        f32(nodes, 2),
        f32(*edges, 3),
        s32(*edges),
        f32(width + sum({"same": width, "other": 2, "edge": 3}[p] for p in parts), *features),
    )


def gathered_pointwise(rng: Random) -> str:
    """Draws a pointwise operation on gathered rows."""
    edges = rng.choice([(6,), (2, 4)])
    kind = rng.choice(["one", "bias", "two", "scalar"])

    def function(x: jax.Array, y: jax.Array, b: jax.Array, i: jax.Array) -> jax.Array:
        if kind == "one":
            return jnp.tanh(x[i])
        if kind == "bias":
            return x[i] + b
        return 2.0 * y[i] if kind == "scalar" else x[i] - y[i]

    x, y = f32(4, 3), f32(4, *rng.choice([(3,), ()]))
    return lowered(function, x, x if kind == "two" else y, f32(3), s32(*edges))


def _product(comparison: Any, equation: str = "ak,kf->af", *, exact: bool = False) -> str:
    """Returns a product of comparisons of labels and classes with a matrix."""

    def function(numbers: jax.Array, values: jax.Array) -> jax.Array:
        marks = comparison(numbers).astype(values.dtype)
        return jnp.einsum(equation, marks, values)

    shape = (4, 3) if equation.startswith("ak,k") else (6, 3)
    return lowered(function, s32(6), array(*shape, dtype=jnp.int32 if exact else jnp.float32))


def _matches(numbers: jax.Array) -> jax.Array:
    return numbers[:, None] == jnp.arange(4)


PROGRAMS: Programs = {
    "one-hot-as-gather": lambda rng: one_hot_products(rng, GATHERED),
    "one-hot-as-scatter": lambda rng: one_hot_products(rng, SCATTERED),
    "one-hot-sum-as-gather": one_hot_sums,
    "gather-after-dot": gathered_dots,
    "pointwise-before-gather": gathered_pointwise,
}

REFUSED: Refused = {
    "one-hot-as-gather": {
        "labels below the class": lambda: _product(
            lambda numbers: numbers[:, None] < jnp.arange(4)
        ),
        "twice the class": lambda: _product(lambda numbers: numbers[:, None] == 2 * jnp.arange(4)),
        "integers": lambda: _product(_matches, exact=True),
        "sums of rows by class": lambda: _product(_matches, "ak,af->kf"),
    },
    "one-hot-as-scatter": {
        "rows of classes": lambda: _product(_matches),
        "labels that differ": lambda: _product(
            lambda numbers: numbers[:, None] != jnp.arange(4), "ak,af->kf"
        ),
    },
    "one-hot-sum-as-gather": {
        "sum over labels": program(
            lambda i, x: jnp.sum(jax.nn.one_hot(i, 4) * x, axis=0), s32(6), f32(6, 4)
        ),
        "greatest of the chosen": program(
            lambda i, x: jnp.max(jax.nn.one_hot(i, 4) * x, axis=1), s32(6), f32(6, 4)
        ),
    },
    "gather-after-dot": {
        "fewer gathered than there are": program(
            lambda x, i, w: x[i] @ w, f32(9, 4), s32(6), f32(4, 3)
        ),
        "product over the gathered": program(
            lambda x, i, w: x[i].T @ w, f32(4, 5), s32(6), f32(6, 3)
        ),
        "columns gathered": program(lambda x, i, w: x[:, i] @ w, f32(9, 4), s32(6), f32(6, 3)),
    },
    "pointwise-before-gather": {
        "few gathered": program(lambda x, i: jnp.tanh(x[i]), f32(9, 4), s32(6)),
        "values of the gathered": program(lambda x, y, i: x[i] + y, f32(4, 3), f32(6, 3), s32(6)),
        "rows of other indices": program(lambda x, i, j: x[i] + x[j], f32(4, 3), s32(6), s32(6)),
    },
}
