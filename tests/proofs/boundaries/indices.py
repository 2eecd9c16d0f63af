"""Gathers and one-hot products on both sides of the clauses of claims."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.proofs.boundaries.boundary import Boundary, either, of, shaped


def _rows(pieces: int) -> Callable[[], str]:
    """Returns rows at positions in so many pieces, each of which has an irregular start."""
    starts = [7 * i + i * i % 5 for i in range(pieces)]
    positions = [start + k for start in starts for k in range(3)]
    return of(lambda x: x[jnp.array(positions)], "200x3")


def _used_twice(*arrays: Any) -> Any:
    total = sum(arrays)
    return jnp.tanh(total) * total.sum()


def _one_hot(equation: str, *, exact: bool = True) -> Callable[[], str]:
    def function(labels: Any, rows: Any) -> Any:
        classes = jnp.arange(4)
        marks = labels[:, None] == classes if exact else labels[:, None] < classes
        return jnp.einsum(equation, marks.astype(jnp.float32), rows)

    return of(function, "s32:6 4x3" if equation == "ak,kf->af" else "s32:6 6x3")


def _eight_bits(classes: int) -> Callable[[], str]:
    """Returns counts of classes whose numbers are of 8 bits."""

    def function(labels: Any) -> Any:
        numbers = lax.iota(jnp.uint8, classes)
        return (labels.astype(jnp.uint8)[:, None] == numbers).sum(0)

    return of(function, "s32:6")


def _selected(dims: str) -> Callable[[], str]:
    """Returns a program that selects an updated array by a predicate of these dimensions."""

    def function(x: Any, p: Any, i: Any, y: Any) -> Any:
        mask = p[:, None] > 0 if p.ndim == 1 else p > 0
        return jnp.where(mask, lax.dynamic_update_slice(x, y, (0, i)), x)

    return of(function, f"4x6 {dims} s32: 4x2")


def _read(width: int, update: Callable[[Any, Any, Any], Any]) -> Callable[[], str]:
    """Returns a read of so many elements after an update."""

    def function(x: Any, i: Any, k: Any, y: Any) -> Any:
        return lax.dynamic_slice(update(x, i, y), (k,), (width,))

    return of(function, "6 s32: s32: 2")


def _set(x: Any, i: Any, y: Any) -> Any:
    return x.at[i].set(y[0])


def _scattered(method: str, *places: int) -> Callable[[], str]:
    """Returns a scatter to known rows."""
    return of(lambda x, y: getattr(x.at[np.array(places)], method)(y), f"4x3 {len(places)}x3")


def _scattered_anywhere(method: str) -> Callable[[], str]:
    """Returns a scatter to rows that are given when it runs."""
    return of(lambda x, i, y: getattr(x.at[i], method)(y), "4x3 s32:3 3x3")


INDICES = (
    Boundary(
        "one-hot-sum-as-scatter",
        "the sum is over dimensions of the labels, not over the classes",
        either(
            of(lambda i: (i[:, None] == jnp.arange(4)).sum(0), "s32:6"),
            of(lambda i: (i[:, None] == jnp.arange(4)).sum(1), "s32:6"),
        ),
    ),
    Boundary(
        "one-hot-sum-as-scatter",
        "classes have different numbers in the type of the labels",
        either(_eight_bits(256), _eight_bits(257)),
    ),
    Boundary(
        "update-of-select",
        "the predicate is the same for all elements of a slice that is updated",
        either(_selected("4"), _selected("4x6")),
    ),
    Boundary(
        "read-before-update",
        "an update by one element",
        either(
            _read(1, _set),
            _read(1, lambda x, i, y: lax.dynamic_update_slice(x, y, (i,))),
        ),
    ),
    Boundary(
        "read-before-update",
        "a read of one element",
        either(_read(1, _set), _read(2, _set)),
    ),
    Boundary(
        "read-before-update",
        "a scatter sets it",
        either(_read(1, _set), _read(1, lambda x, i, y: x.at[i].apply(jnp.tanh))),
    ),
    *(
        boundary
        for rule, method in (("scatter-as-gather", "set"), ("scatter-as-gather:add", "add"))
        for boundary in (
            Boundary(
                rule,
                "known positions",
                either(_scattered(method, 2, 0, 1), _scattered_anywhere(method)),
            ),
            Boundary(
                rule,
                "each at most once",
                either(_scattered(method, 2, 0, 1), _scattered(method, 2, 0, 2)),
            ),
            Boundary(
                rule,
                "updates replace what there is, or are added",
                either(_scattered(method, 2, 0, 1), _scattered("multiply", 2, 0, 1)),
            ),
        )
    ),
    Boundary(
        "rotations-as-slices",
        "two rotations of one array along one dimension, by different distances",
        either(
            of(lambda x: jnp.roll(x, 1) + jnp.roll(x, -1), "2048"),
            of(lambda x: jnp.roll(x, 1) + jnp.roll(x, 1 - len(x)), "2048"),
        ),
    ),
    Boundary(
        "rotations-as-slices",
        "at least 1,024 elements",
        shaped(lambda x: jnp.roll(x, 1) + jnp.roll(x, -1), "n"),
    ),
    Boundary(
        "rotation-as-select",
        "both parts of one array, each once",
        either(
            of(lambda x: jnp.roll(x, 1), "2048"),
            of(lambda x: jnp.concatenate([x[2:], x[:1]]), "2048"),
        ),
    ),
    Boundary(
        "rotation-as-select", "at least 1,024 elements", shaped(lambda x: jnp.roll(x, 1), "n")
    ),
    Boundary("gather-as-slices", "known positions in at most 16 pieces", lambda n: _rows(n)()),
    Boundary(
        "gather-at-constant-as-slice",
        "which is known",
        either(
            of(partial(jnp.median, axis=0), "9x3"),
            of(lambda x, i: jnp.sort(x, axis=0)[i], "9x3 s32:"),
        ),
    ),
    Boundary(
        "one-hot-as-gather",
        "the dot contracts the classes only",
        either(_one_hot("ak,kf->af"), _one_hot("ak,af->kf")),
    ),
    Boundary(
        "one-hot-as-scatter",
        "the classes are the free dimension of their operand",
        either(_one_hot("ak,af->kf"), _one_hot("ak,kf->af")),
    ),
    Boundary(
        "stored-gather-table",
        "a pointwise operation that a gather reads",
        either(
            of(lambda x, i: jnp.tanh(x)[i], "64x32 s32:2048"),
            of(lambda x, i: jnp.cumsum(x, 1)[i], "64x32 s32:2048"),
        ),
    ),
    Boundary(
        "stored-repeated-sine",
        "a sine, cosine or tangent that is broadcast",
        either(
            of(lambda x, y: jnp.sin(x) * y, "32 64x32"),
            of(lambda x, y: jnp.exp(x) * y, "32 64x32"),
        ),
    ),
    Boundary(
        "stored-shared-sum",
        "a cheap elementwise operation that reads twelve arrays, for two users",
        either(of(_used_twice, "64x32 " * 12), of(_used_twice, "64x32 " * 11)),
    ),
    Boundary(
        "one-hot-sum-as-gather",
        "the sum is over the classes",
        either(
            of(lambda i, x: jnp.sum((i[:, None] == jnp.arange(4)) * x, 1), "s32:6 6x4"),
            of(lambda i, x: jnp.sum((i[:, None] == jnp.arange(4)) * x, 0), "s32:6 6x4"),
        ),
    ),
    Boundary(
        "pointwise-before-gather",
        "all operands are gathers of the same rows",
        either(
            of(lambda x, y, i, j: jnp.sin(x[i]) + y[i], "4x3 4x3 s32:64 s32:64"),
            of(lambda x, y, i, j: x[i] + y[j], "4x3 4x3 s32:64 s32:64"),
        ),
    ),
    Boundary(
        "slice-of-dynamic-slice",
        "the dynamic slice takes all that there is along dimensions that the slice cuts",
        either(
            of(lambda x, i: lax.dynamic_slice(x, (i, 0), (1, 32))[:, 1:20], "6x32 s32:"),
            of(lambda x, i: lax.dynamic_slice(x, (i, i), (6, 24))[:, 1:20], "6x32 s32:"),
        ),
    ),
    Boundary(
        "gather-after-dot",
        "rows, alone or beside other columns, times a matrix",
        either(
            of(lambda x, i, w: x[i] @ w, "9x4 s32:64 4x3"),
            of(lambda x, i, w: x[:, i] @ w, "64x9 s32:64 64x3"),
        ),
    ),
    Boundary(
        "differences-by-dot",
        "a sum of products of a weight with differences of broadcasts",
        either(
            of(lambda g, x, c: jnp.sum(g[..., None] * (x[:, None] - c), 1), "6x4 6x5 4x5"),
            of(lambda g, x, c: jnp.sum(g * (x[:, None] - c), 1), "6x4x5 6x5 4x5"),
        ),
    ),
)
