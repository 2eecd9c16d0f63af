"""Programs that one argument decides, run on all 65 536 values of 16 bits at once.

The values are keys of sorts and top-k, elements whose greatest is looked for, labels of one-hot
rows, and indices of gathers, which may be negative and out of range.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.speed_rules.lowering import array, lowered
from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array, dtype_of
from tests.proofs.floats.programs import Pair, applied, retyped
from tests.proofs.floats.values import special

_COUNT = 1 << 16

Function = Callable[..., Any]


def _pair(values: jax.Array) -> Any:
    return lax.sort((values, lax.broadcasted_iota(jnp.int32, values.shape, 1)), num_keys=1)


def _first_sorted(values: jax.Array) -> Any:
    order = jnp.argsort(values, axis=-1, stable=True)
    return order[:, :300], order[:, -300:]


def _ranks(values: jax.Array) -> jax.Array:
    return jnp.argsort(jnp.argsort(values, axis=-1), axis=-1)


def _positions(values: jax.Array) -> Any:
    return jnp.argmax(values, axis=-1), jnp.argmin(values, axis=-1)


def _embedded(labels: jax.Array, table: jax.Array) -> jax.Array:
    return jax.nn.one_hot(labels, 300, dtype=table.dtype) @ table


def _added(labels: jax.Array, rows: jax.Array) -> jax.Array:
    return jax.nn.one_hot(labels, 300, dtype=rows.dtype).T @ rows


def _chosen(labels: jax.Array, scores: jax.Array) -> jax.Array:
    marks = jax.nn.one_hot(labels, 300, dtype=scores.dtype)
    return jnp.sum(marks * scores, axis=-1)


def _gathered(of: Function, indices: jax.Array, *arrays: jax.Array) -> jax.Array:
    # Clamped by XLA itself: no check of JAX comes first.
    rows = arrays[0].at[indices.astype(jnp.int32)].get(mode="clip", wrap_negative_indices=False)
    return of(rows, *arrays[1:])


_ROW = (1, _COUNT)
_FLOATS = ("bf16", "f16")
_INTEGERS = ("s16", "u16")

KEYS: dict[str, tuple[tuple[str, ...], Function, tuple[int, ...]]] = {
    "sort-along-minor": (_FLOATS, partial(jnp.sort, axis=0), (256, 256)),
    "sort-by-packed-keys": ((*_FLOATS, *_INTEGERS), _pair, _ROW),
    "sort-by-permutation-as-scatter": (_FLOATS, _ranks, _ROW),
    "sort-prefix-as-top-k": ((*_FLOATS, *_INTEGERS), _first_sorted, _ROW),
    "top-k-by-float-keys": (_INTEGERS, partial(lax.top_k, k=300), _ROW),
    "top-k-by-packed-keys": ((*_FLOATS, *_INTEGERS), partial(lax.top_k, k=_COUNT), _ROW),
    "argmax-as-first-maximum": ((*_FLOATS, "s16"), _positions, (0, 2)),
}
"""Element types, function and shape of programs that all values decide, by exact rule.

The positions of the greatest are looked for in pairs: of all values and the special ones, in both
orders.
"""

LABELS: dict[str, tuple[Function, tuple[tuple[int, ...], ...]]] = {
    "one-hot-as-gather": (_embedded, ((300, 2),)),
    "one-hot-as-scatter": (_added, ((_COUNT, 2),)),
    "one-hot-sum-as-gather": (_chosen, ((_COUNT, 300),)),
    "gather-after-dot": (partial(_gathered, jnp.matmul), ((300, 2), (2, 2))),
    "pointwise-before-gather": (partial(_gathered, jnp.tanh), ((300, 2),)),
}
"""Function of labels and of arrays of these shapes, by rule."""


def every_key(
    rule: str, element_type: str, others: Array | None = None
) -> tuple[Pair, list[Array]]:
    """Returns a program of a rule of ``KEYS``, and inputs with all values of a type of 16 bits.

    Args:
        rule: Name of the rule.
        element_type: The type.
        others: Values beside which the greatest is looked for; by default the special ones.

    Raises:
        HloError: The rule does not apply.
    """
    _, function, shape = KEYS[rule]
    values = np.random.default_rng(0).permutation(_COUNT).astype(np.uint16)
    values = values.view(dtype_of(element_type))
    if shape[0] == 0:
        others = np.repeat(special(element_type) if others is None else others, _COUNT)
        columns = [np.resize(values, others.shape), others]
        values = np.concatenate([np.stack(each, -1) for each in (columns, columns[::-1])])
    else:
        values = values.reshape(shape)
    dtype = {"s": "int16", "u": "uint16"}.get(element_type[0], "float32")
    text = retyped(lowered(function, array(*values.shape, dtype=dtype)), element_type)
    return _applied(rule, text), [values]


def every_label(rule: str, label_type: str) -> tuple[Pair, list[Array]]:
    """Returns a program of a rule of ``LABELS``, and inputs with labels of a type of 32 bits.

    They are all that 16 bits have, signed or not, and the extreme ones of 32 bits.

    Raises:
        HloError: The rule does not apply.
    """
    function, shapes = LABELS[rule]
    rng = np.random.default_rng(0)
    low = -(_COUNT // 2) if label_type == "s32" else 0
    labels = (low + rng.permutation(_COUNT)).astype(dtype_of(label_type))
    labels[: len(special(label_type))] = special(label_type)
    arrays = [rng.integers(-8, 9, shape).astype(np.float32) for shape in shapes]
    shaped = [array(*each.shape) for each in arrays]
    text = lowered(function, array(_COUNT, dtype=labels.dtype), *shaped)
    return _applied(rule, text), [labels, *arrays]


def _applied(rule: str, text: str) -> Pair:
    pair = applied(rule, text)
    if pair is None:
        raise HloError(f"expected {rule} to apply to\n{text}")
    return pair
