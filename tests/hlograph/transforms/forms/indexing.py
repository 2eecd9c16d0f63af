"""Random programs with the patterns of the rules for indexing, and programs that they refuse."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from hypothesis import strategies as st

from tests.hlograph.transforms.forms.pattern import Programs, Refused, lowered


def floats(*shape: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def labels(*shape: int, dtype: Any = jnp.int32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


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


@st.composite
def one_hot_products(draw: st.DrawFn, equations: tuple[str, ...]) -> str:
    """Draws a product with one-hot labels, some of which are no class."""
    equation = draw(st.sampled_from(equations))
    kind = draw(st.sampled_from(["last", "first", "where", "match"]))
    sizes = {letter: draw(st.integers(2, 5)) for letter in "abkf"}
    dtype = draw(st.sampled_from([jnp.int32, jnp.uint32]))
    first, second = equation.split("->")[0].split(",")
    is_first = first == "abk"
    other = second if is_first else first

    def function(numbers: jax.Array, array: jax.Array) -> jax.Array:
        marks = one_hot(numbers % (sizes["k"] + 2), sizes["k"], kind)
        return jnp.einsum(equation, *((marks, array) if is_first else (array, marks)))

    shape = [sizes[letter] for letter in other]
    return lowered(function, labels(sizes["a"], sizes["b"], dtype=dtype), floats(*shape))


@st.composite
def one_hot_sums(draw: st.DrawFn) -> str:
    """Draws a sum of what one-hot labels choose."""
    classes = draw(st.integers(2, 6))
    shape = draw(st.sampled_from([(5,), (3, 4)]))
    axis = draw(st.sampled_from([-1, 0]))
    selects = draw(st.booleans())

    def function(numbers: jax.Array, array: jax.Array) -> jax.Array:
        numbers = numbers % (classes + 2)
        if not selects:
            return jnp.sum(jax.nn.one_hot(numbers, classes, axis=axis) * array, axis=axis)
        classes_first = jnp.arange(classes).reshape(-1, *(1 for _ in shape))
        return jnp.sum(jnp.where(numbers == classes_first, array, 0.0), axis=0)

    sizes = (classes, *shape) if selects or axis == 0 else (*shape, classes)
    return lowered(function, labels(*shape), floats(*sizes))


@st.composite
def gathered_dots(draw: st.DrawFn) -> str:
    """Draws a product of gathered rows, or of gathered rows beside others."""
    nodes, edges = draw(st.integers(2, 4)), draw(st.sampled_from([(6,), (2, 4)]))
    width, features = draw(st.integers(1, 4)), draw(st.sampled_from([(3,), (2, 3)]))
    parts = draw(st.lists(st.sampled_from(["same", "other", "edge"]), max_size=3))

    def function(x: jax.Array, y: jax.Array, e: jax.Array, i: jax.Array, w: jax.Array) -> Any:
        columns = [x[i], *({"same": x[i], "other": y[i], "edge": e}[part] for part in parts)]
        return jnp.tensordot(jnp.concatenate(columns, axis=-1), w, 1)

    return lowered(
        function,
        floats(nodes, width),
        floats(nodes, 2),
        floats(*edges, 3),
        labels(*edges),
        floats(width + sum({"same": width, "other": 2, "edge": 3}[p] for p in parts), *features),
    )


@st.composite
def gathered_pointwise(draw: st.DrawFn) -> str:
    """Draws a pointwise operation on gathered rows."""
    edges = draw(st.sampled_from([(6,), (2, 4)]))
    kind = draw(st.sampled_from(["one", "bias", "two", "scalar"]))

    def function(x: jax.Array, y: jax.Array, b: jax.Array, i: jax.Array) -> jax.Array:
        if kind == "one":
            return jnp.tanh(x[i])
        if kind == "bias":
            return x[i] + b
        return 2.0 * y[i] if kind == "scalar" else x[i] - y[i]

    x, y = floats(4, 3), floats(4, *draw(st.sampled_from([(3,), ()])))
    return lowered(function, x, x if kind == "two" else y, floats(3), labels(*edges))


PROGRAMS: Programs = {
    "one-hot-as-gather": lambda: one_hot_products(GATHERED),
    "one-hot-as-scatter": lambda: one_hot_products(SCATTERED),
    "one-hot-sum-as-gather": one_hot_sums,
    "gather-after-dot": gathered_dots,
    "pointwise-before-gather": gathered_pointwise,
}


def _product(comparison: Any, equation: str = "ak,kf->af", *, exact: bool = False) -> str:
    """Returns a product of comparisons of labels and classes with a matrix."""

    def function(numbers: jax.Array, array: jax.Array) -> jax.Array:
        marks = comparison(numbers).astype(array.dtype)
        return jnp.einsum(equation, marks, array)

    shape = (4, 3) if equation.startswith("ak,k") else (6, 3)
    return lowered(function, labels(6), floats(*shape, dtype=jnp.int32 if exact else jnp.float32))


def _matches(numbers: jax.Array) -> jax.Array:
    return numbers[:, None] == jnp.arange(4)


REFUSED: Refused = {
    "labels below the class": (
        "one-hot-as-gather",
        lambda: _product(lambda numbers: numbers[:, None] < jnp.arange(4)),
    ),
    "twice the class": (
        "one-hot-as-gather",
        lambda: _product(lambda numbers: numbers[:, None] == 2 * jnp.arange(4)),
    ),
    "integers": ("one-hot-as-gather", lambda: _product(_matches, exact=True)),
    "sums of rows by class": ("one-hot-as-gather", lambda: _product(_matches, "ak,af->kf")),
    "rows of classes": ("one-hot-as-scatter", lambda: _product(_matches)),
    "labels that differ": (
        "one-hot-as-scatter",
        lambda: _product(lambda numbers: numbers[:, None] != jnp.arange(4), "ak,af->kf"),
    ),
    "sum over labels": (
        "one-hot-sum-as-gather",
        lambda: lowered(
            lambda i, x: jnp.sum(jax.nn.one_hot(i, 4) * x, axis=0), labels(6), floats(6, 4)
        ),
    ),
    "greatest of the chosen": (
        "one-hot-sum-as-gather",
        lambda: lowered(
            lambda i, x: jnp.max(jax.nn.one_hot(i, 4) * x, axis=1), labels(6), floats(6, 4)
        ),
    ),
    "fewer gathered than there are": (
        "gather-after-dot",
        lambda: lowered(lambda x, i, w: x[i] @ w, floats(9, 4), labels(6), floats(4, 3)),
    ),
    "product over the gathered": (
        "gather-after-dot",
        lambda: lowered(lambda x, i, w: x[i].T @ w, floats(4, 5), labels(6), floats(6, 3)),
    ),
    "columns gathered": (
        "gather-after-dot",
        lambda: lowered(lambda x, i, w: x[:, i] @ w, floats(9, 4), labels(6), floats(6, 3)),
    ),
    "few gathered": (
        "pointwise-before-gather",
        lambda: lowered(lambda x, i: jnp.tanh(x[i]), floats(9, 4), labels(6)),
    ),
    "values of the gathered": (
        "pointwise-before-gather",
        lambda: lowered(lambda x, y, i: x[i] + y, floats(4, 3), floats(6, 3), labels(6)),
    ),
    "rows of other indices": (
        "pointwise-before-gather",
        lambda: lowered(lambda x, i, j: x[i] + x[j], floats(4, 3), labels(6), labels(6)),
    ),
}
