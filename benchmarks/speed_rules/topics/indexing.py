"""Rules about one-hot products, gathers, scatters and dynamic slices."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program, s32


def class_sums(labels: jax.Array, rows: jax.Array, *, classes: int) -> jax.Array:
    """Returns the sums of rows by label."""
    return jax.nn.one_hot(labels, classes).T @ rows


def class_sums_by_rows(labels: jax.Array, rows: jax.Array, *, classes: int) -> jax.Array:
    """Returns the sums of the rows of each class, by rows of an identity matrix."""
    return jnp.eye(classes)[labels].T @ rows


def chosen_by_rows(labels: jax.Array, scores: jax.Array) -> jax.Array:
    """Returns the score of each label, by rows of an identity matrix."""
    return jnp.sum(jnp.eye(scores.shape[-1])[labels] * scores, axis=-1)


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


def one_hot(labels: jax.Array, classes: int, kind: str) -> jax.Array:
    """Returns one-hot labels, written in one of several ways."""
    if kind == "last":
        return jax.nn.one_hot(labels, classes)
    if kind == "first":
        return jnp.moveaxis(jax.nn.one_hot(labels, classes, axis=0), 0, -1)
    if kind in ("rows", "columns"):
        identity = jnp.eye(classes)
        return identity[labels] if kind == "rows" else jnp.moveaxis(identity[:, labels], 0, -1)
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
    kind = rng.choice(["last", "first", "where", "match", "rows", "columns"])
    sizes = {letter: rng.randint(2, 5) for letter in "abkf"}
    dtype = rng.choice([jnp.int32, jnp.uint32])
    first, second = equation.split("->")[0].split(",")
    is_first = first == "abk"
    other = second if is_first else first

    def function(numbers: jax.Array, values: jax.Array) -> jax.Array:
        marks = one_hot(numbers % (sizes["k"] + 2), sizes["k"], kind).astype(values.dtype)
        return jnp.einsum(equation, *((marks, values) if is_first else (values, marks)))

    shape = [sizes[letter] for letter in other]
    values = array(*shape, dtype=rng.choice(["float32", "int32"]))
    return lowered(function, array(sizes["a"], sizes["b"], dtype=dtype), values)


def one_hot_sums(rng: Random) -> str:
    """Draws a sum of what one-hot labels choose."""
    classes = rng.randint(2, 6)
    shape = rng.choice([(5,), (3, 4)])
    axis = rng.choice([-1, 0])
    selects, by_rows = rng.random() < 0.5, rng.random() < 0.5

    def function(numbers: jax.Array, values: jax.Array) -> jax.Array:
        numbers = numbers % (classes + 2)
        if by_rows and not selects and axis == -1:
            return jnp.sum(jnp.eye(classes)[numbers] * values, axis=-1)
        if not selects:
            return jnp.sum(jax.nn.one_hot(numbers, classes, axis=axis) * values, axis=axis)
        classes_first = jnp.arange(classes).reshape(-1, *(1 for _ in shape))
        return jnp.sum(jnp.where(numbers == classes_first, values, 0.0), axis=0)

    sizes = (classes, *shape) if selects or axis == 0 else (*shape, classes)
    return lowered(function, s32(*shape), array(*sizes))


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
        array(nodes, width),
        array(nodes, 2),
        array(*edges, 3),
        s32(*edges),
        array(width + sum({"same": width, "other": 2, "edge": 3}[p] for p in parts), *features),
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

    x, y = array(4, 3), array(4, *rng.choice([(3,), ()]))
    return lowered(function, x, x if kind == "two" else y, array(3), s32(*edges))


def _product(
    comparison: Any, equation: str = "ak,kf->af", of: str = "s32:6 4x3"
) -> Callable[[], str]:
    """Returns a product of comparisons of labels and classes with a matrix."""

    def function(numbers: jax.Array, values: jax.Array) -> jax.Array:
        marks = comparison(numbers).astype(values.dtype)
        return jnp.einsum(equation, marks, values)

    return program(function, of)


def _matches(numbers: jax.Array) -> jax.Array:
    return numbers[:, None] == jnp.arange(4)


def exchanged(x: jax.Array, *, distance: int) -> jax.Array:
    """Returns the lesser of each element and its partner, as a bitonic sort does."""
    partner = jnp.arange(x.shape[1]) ^ distance
    return jnp.minimum(x, x[:, partner])


def _frames(length: int, hop: int, width: int) -> jax.Array:
    count = (length - width) // hop + 1
    return hop * jnp.arange(count)[:, None] + jnp.arange(width)


def windowed(waves: jax.Array) -> jax.Array:
    """Returns frames of 400 samples every 160, as a spectrogram takes them."""
    return waves[:, _frames(waves.shape[1], 160, 400)] * jnp.hanning(400)


def doubled(x: jax.Array) -> jax.Array:
    """Returns each row twice."""
    return x[jnp.arange(2 * len(x)) // 2]


def twice(x: jax.Array) -> jax.Array:
    """Returns images enlarged twice."""
    batch, channels, height, width = x.shape
    return jax.image.resize(x, (batch, channels, 2 * height, 2 * width), "nearest")


def _windows(x: jax.Array, starts: jax.Array, width: int) -> jax.Array:
    def window(start: jax.Array) -> jax.Array:
        return lax.dynamic_slice_in_dim(x, start, width, axis=1)

    return jax.vmap(window)(starts)


def _positions(rng: Random, size: int) -> Callable[[], jax.Array]:
    """Returns a function that computes positions below the size, with a pattern."""
    factor, shift = rng.randint(2, 4), rng.randint(1, size - 1)
    bit = rng.choice([1, 2, 4])
    hop, width = rng.randint(1, 5), rng.randint(2, 7)
    patterns: list[Callable[[], jax.Array]] = [
        lambda: jnp.arange(size) ^ bit,
        lambda: (jnp.arange(size) + shift) % size,
        lambda: jnp.arange(factor * size) // factor,
        lambda: jnp.arange(2 * size) % size,
        lambda: size - 1 - jnp.arange(size),
        lambda: factor * jnp.arange(size // factor + 3),
        lambda: jnp.concatenate([jnp.arange(4, 9), jnp.arange(3)]),
        lambda: jnp.arange(size).reshape(-1, 2)[:, ::-1].reshape(-1),
        lambda: jnp.floor((jnp.arange(2 * size) + 0.5) * size / (2 * size)).astype(int),
        lambda: _frames(size, hop, width),
    ]
    return rng.choice(patterns)


def known_gathers(rng: Random) -> str:
    """Draws gathers at positions of a pattern, along any dimension."""
    sizes = [rng.randint(1, 3), rng.randint(1, 3)]
    axis = rng.randint(0, 2)
    size = rng.choice([16, 24])
    sizes.insert(axis, size)
    kind = rng.choice(["float32", "int32", "bfloat16", "complex64"])
    if rng.random() < 0.5:
        positions = _positions(rng, size)
        mode = rng.choice(["fill", "clip", "wrap"])
        return lowered(
            lambda x: jnp.take(x, positions(), axis=axis, mode=mode), array(*sizes, dtype=kind)
        )
    hop, width = rng.randint(1, 5), rng.randint(2, 7)
    count = rng.randint(2, 6)
    return lowered(
        lambda x: _windows(x, hop * jnp.arange(count), width),
        array(rng.randint(1, 3), size, dtype=kind),
    )


def _taken(positions: Callable[[], Any], of: str) -> Callable[[], str]:
    return program(lambda x: jnp.take(x, jnp.asarray(positions()), axis=0, mode="clip"), of)


def memory(weights: jax.Array, projected: jax.Array, *start: jax.Array) -> Any:
    """Runs a long short-term memory on inputs that are projected already."""

    def step(carry: Any, row: jax.Array) -> Any:
        hidden, cell = carry
        first, second, third, fourth = jnp.split(row + hidden @ weights, 4, axis=-1)
        cell = jax.nn.sigmoid(second) * cell + jax.nn.sigmoid(first) * jnp.tanh(third)
        hidden = jax.nn.sigmoid(fourth) * jnp.tanh(cell)
        return (hidden, cell), hidden

    return lax.scan(step, start, projected)[1]


def gates(rng: Random) -> str:
    """Draws a loop whose steps take parts of the rows that they read."""
    kind = rng.choice(["float32", "int32", "float64"])
    steps, rows, parts = rng.randint(2, 4), rng.randint(2, 3), rng.randint(2, 4)
    added, reverse = rng.random() < 0.5, rng.random() < 0.5

    def network(series: jax.Array, start: jax.Array) -> jax.Array:
        def step(state: jax.Array, given: jax.Array) -> tuple[jax.Array, None]:
            if added:
                given = (given + 1) * jnp.tile(state, (1, parts))
            first, *others = jnp.split(given, parts, 1)
            return jnp.maximum(state, first) - sum(others), None

        return lax.scan(step, start, series, reverse=reverse)[0]

    series = array(steps, rows, 8 * parts, dtype=kind)
    return lowered(network, series, array(rows, 8, dtype=kind))


def _sliced(x: jax.Array, i: jax.Array, sizes: tuple[int, int], start: int, stop: int) -> jax.Array:
    return lax.slice_in_dim(lax.dynamic_slice(x, (i, i), sizes), start, stop, axis=1)


def clamped(rng: Random) -> str:
    """Draws a dynamic slice with any index, and a slice of the dimension that it reads whole."""
    rows = rng.randint(1, 6)
    start = rng.randint(0, 15)
    stop = rng.randint(start + 16, 31)
    return lowered(lambda x, i: _sliced(x, i, (rows, 32), start, stop), array(6, 32), s32())


def _used_whole(x: jax.Array, i: jax.Array) -> tuple[jax.Array, jax.Array]:
    row = lax.dynamic_index_in_dim(x, i, keepdims=False) * 2
    return row[:16], row


def _overlapping(x: jax.Array, i: jax.Array) -> jax.Array:
    row = jnp.exp(lax.dynamic_index_in_dim(x, i, keepdims=False))
    return row[:24] + row[8:]


PROGRAMS: Programs = {
    "one-hot-as-gather": lambda rng: one_hot_products(rng, GATHERED),
    "one-hot-as-scatter": lambda rng: one_hot_products(rng, SCATTERED),
    "one-hot-sum-as-gather": one_hot_sums,
    "gather-after-dot": gathered_dots,
    "pointwise-before-gather": gathered_pointwise,
    "gather-as-slices": known_gathers,
    "slice-of-dynamic-slice": lambda rng: rng.choice([gates, clamped])(rng),
}


REFUSED: Refused = {
    "one-hot-as-gather": {
        "labels below the class": _product(lambda numbers: numbers[:, None] < jnp.arange(4)),
        "twice the class": _product(lambda numbers: numbers[:, None] == 2 * jnp.arange(4)),
        "half precision": _product(_matches, of="s32:6 bf16:4x3"),
        "sums of rows by class": _product(_matches, "ak,af->kf", "s32:6 6x3"),
    },
    "one-hot-as-scatter": {
        "rows of classes": _product(_matches),
        "labels that differ": _product(
            lambda numbers: numbers[:, None] != jnp.arange(4), "ak,af->kf", "s32:6 6x3"
        ),
    },
    "one-hot-sum-as-gather": {
        "sum over labels": program(
            lambda i, x: jnp.sum(jax.nn.one_hot(i, 4) * x, axis=0), "s32:6 6x4"
        ),
        "greatest of the chosen": program(
            lambda i, x: jnp.max(jax.nn.one_hot(i, 4) * x, axis=1), "s32:6 6x4"
        ),
    },
    "gather-after-dot": {
        "fewer gathered than there are": program(lambda x, i, w: x[i] @ w, "9x4 s32:6 4x3"),
        "product over the gathered": program(lambda x, i, w: x[i].T @ w, "4x5 s32:6 6x3"),
        "columns gathered": program(lambda x, i, w: x[:, i] @ w, "9x4 s32:6 6x3"),
    },
    "pointwise-before-gather": {
        "few gathered": program(lambda x, i: jnp.tanh(x[i]), "9x4 s32:6"),
        "values of the gathered": program(lambda x, y, i: x[i] + y, "4x3 6x3 s32:6"),
        "rows of other indices": program(lambda x, i, j: x[i] + x[j], "4x3 s32:6 s32:6"),
    },
    "gather-as-slices": {
        "positions that are given": program(lambda x, i: x[i], "16x3 s32:16"),
        "positions without a pattern": _taken(lambda: jnp.arange(64) ** 2 % 37, "64x3"),
        "quotients near an integer": _taken(
            lambda: jnp.floor(jnp.arange(16) * 3.0 / 7.0).astype(int), "16x3"
        ),
        "positions along two dimensions": program(
            lambda x: x[jnp.arange(16), jnp.arange(16)], "16x16"
        ),
        "one position": _taken(lambda: jnp.arange(1) + 3, "16x3"),
    },
    "slice-of-dynamic-slice": {
        "slices of a dimension that is read in part": program(
            lambda x, i: _sliced(x, i, (6, 24), 1, 20), "6x32 s32:"
        ),
        "a value that is used whole": program(_used_whole, "6x32 s32:"),
        "overlapping slices": program(_overlapping, "6x32 s32:"),
        "a stride": program(
            lambda x, i: lax.dynamic_index_in_dim(x, i, keepdims=False)[::2], "6x32 s32:"
        ),
        "no dynamic slice": program(lambda x: (x + 1)[:2], "6x32"),
        "a slice of few elements": program(
            lambda x, i: lax.dynamic_index_in_dim(x, i, keepdims=False)[:15], "6x32 s32:"
        ),
    },
}
