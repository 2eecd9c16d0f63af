"""The rule about counts and sums by class, in the ways in which they are written."""

from __future__ import annotations

from random import Random

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program


def counts(labels: jax.Array, *, classes: int) -> jax.Array:
    """Returns how many labels are of each class."""
    return (labels[:, None] == jnp.arange(classes)).sum(0)


def one_hot_counts(labels: jax.Array, *, classes: int) -> jax.Array:
    """Returns the shares of labels that are of each class, as routers of experts have them."""
    return jax.nn.one_hot(labels, classes).mean(0)


def counts_of_each(labels: jax.Array, *, classes: int) -> jax.Array:
    """Returns how many labels are of each class, counted class by class."""
    return jax.vmap(lambda number: (labels == number).sum())(jnp.arange(classes))


def weighted_counts(labels: jax.Array, weights: jax.Array, *, classes: int) -> jax.Array:
    """Returns the sum of the weights of each class."""
    return (jax.nn.one_hot(labels, classes) * weights[:, None]).sum(0)


def masked_rows(labels: jax.Array, rows: jax.Array, *, classes: int) -> jax.Array:
    """Returns the sum of the rows of each class."""
    is_of = labels[:, None] == jnp.arange(classes)
    return jnp.where(is_of[..., None], rows[:, None], 0).sum(0)


def confusion(labels: jax.Array, predictions: jax.Array, *, classes: int) -> jax.Array:
    """Returns how often each class is taken for each one."""
    numbers = jnp.arange(classes)
    first, second = (x[:, None] == numbers for x in (labels, predictions))
    return (first[:, :, None] & second[:, None, :]).sum(0)


def _numbers(rng: Random, classes: int, dtype: str) -> jax.Array:
    """Draws the numbers of classes: from 0, from another number, or as a constant of NumPy."""
    start = rng.choice([0, 0, 1, 3])
    kinds = {
        "iota": lambda: jnp.arange(start, start + classes, dtype=dtype),
        "constant": lambda: np.arange(start, start + classes, dtype=dtype),
    }
    return kinds[rng.choice(list(kinds))]()


def sums_by_class(rng: Random) -> str:
    """Draws a sum by class: of ones, numbers, rows, or elements of each class, some masked."""
    classes, labelled, width = rng.randint(2, 6), rng.choice([(7,), (3, 4)]), rng.randint(1, 3)
    dtype = rng.choice(["int32", "uint32", "uint8", "int16", "int64"])
    kind = rng.choice(["counts", "floats", "weights", "integers", "rows", "elements", "pairs"])
    masked = rng.random() < 0.5 and kind not in ("rows", "pairs")
    selects = rng.random() < 0.5
    kept = rng.choice([(), (0,)]) if len(labelled) == 2 else ()  # dimensions of labels
    at = rng.randint(0, len(labelled))  # where the classes are
    draws = Random(rng.random())

    def function(labels: jax.Array, mask: jax.Array, values: jax.Array) -> jax.Array:
        numbers = _numbers(draws, classes, dtype)
        own = tuple(range(at)) + tuple(range(at + 1, len(labelled) + 1))

        def spread(x: jax.Array) -> jax.Array:
            return jnp.expand_dims(x, at)

        is_of = spread(labels) == jnp.expand_dims(numbers, own)
        if masked:
            is_of = is_of & spread(mask)
        summed = tuple(axis for i, axis in enumerate(own) if i not in kept)
        if kind == "pairs":
            return (is_of[..., None] & (values[..., None] > jnp.arange(3.0))).sum(summed)
        if kind in ("counts", "floats"):
            return is_of.astype("int32" if kind == "counts" else "float32").sum(summed)
        if kind in ("weights", "integers"):
            values = spread(values)
        if kind == "rows":
            is_of, values = is_of[..., None], jnp.expand_dims(values, at)
        chosen = jnp.where(is_of, values, 0) if selects else is_of * values
        return chosen.sum(summed, dtype=values.dtype)

    shape: tuple[int, ...] = labelled
    if kind == "rows":
        shape = (*labelled, width)
    if kind in ("elements", "pairs"):
        shape = (*labelled[:at], classes, *labelled[at:])
    return lowered(
        function,
        array(*labelled, dtype=dtype),
        array(*labelled, dtype="bool"),
        array(*shape, dtype="int32" if kind == "integers" else "float32"),
    )


PROGRAMS: Programs = {"one-hot-sum-as-scatter": sums_by_class}

REFUSED: Refused = {
    "one-hot-sum-as-scatter": {
        "sum over classes": program(lambda i: jax.nn.one_hot(i, 4).sum(1), "s32:6"),
        "greatest of a class": program(
            lambda i, x: (jax.nn.one_hot(i, 4) * x[:, None]).max(0), "s32:6 6"
        ),
        "labels that differ": program(lambda i: (i[:, None] != jnp.arange(4)).sum(0), "s32:6"),
        "every second label": program(lambda i: (i[:, None] == 2 * jnp.arange(4)).sum(0), "s32:6"),
        "labels that are floats": program(lambda x: (x[:, None] == jnp.arange(4.0)).sum(0), "6"),
        "numbers that are not in order": program(
            lambda i: (i[:, None] == np.array([0, 2, 1, 3])).sum(0), "s32:6"
        ),
        "numbers that occur twice in eight bits": program(
            lambda i: (i.astype(jnp.uint8)[:, None] == jnp.arange(300).astype(jnp.uint8)).sum(0),
            "s32:6",
        ),
        "other numbers elsewhere": program(
            lambda i, x: jnp.where(i[:, None] == jnp.arange(4), x[:, None], 1).sum(0), "s32:6 6"
        ),
        "sum over a dimension that labels lack": program(
            lambda i, x: (jax.nn.one_hot(i, 4)[..., None] * x[:, None]).sum((0, 2)), "s32:6 6x3"
        ),
        "half precision": program(
            lambda i: jax.nn.one_hot(i, 4, dtype=jnp.bfloat16).sum(0, dtype=jnp.bfloat16), "s32:6"
        ),
    }
}
