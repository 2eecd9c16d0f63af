"""Random products of few rows and a matrix, and programs that the rule for them refuses."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from hypothesis import strategies as st
from jax import lax

from tests.hlograph.transforms.forms.pattern import Programs, Refused, lowered


def _array(*sizes: int, kind: str = "float32") -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, kind)


@st.composite
def few_rows(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(["float32", "float64"]))
    rows = draw(st.sampled_from([(), (1,), (3,), (2, 2), (1, 1, 5)]))
    count, inner = draw(st.integers(64, 70)), draw(st.integers(64, 70))
    transposed = draw(st.booleans())
    columns = (count,) if draw(st.booleans()) else (4, count // 4)
    matrix = (*columns, inner) if transposed else (inner, *columns)
    contracted = ((len(rows),), (len(columns),) if transposed else (0,))

    def product(x: jax.Array, matrix: jax.Array) -> jax.Array:
        return lax.dot_general(x, matrix, (contracted, ((), ())), precision=("highest", "default"))

    with jax.enable_x64(True):
        return lowered(product, _array(*rows, inner, kind=kind), _array(*matrix, kind=kind))


PROGRAMS: Programs = {"dot-of-few-rows-swapped": few_rows}

REFUSED: Refused = {
    "many rows": (
        "dot-of-few-rows-swapped",
        lambda: lowered(jnp.dot, _array(32, 64), _array(64, 512)),
    ),
    "few columns": (
        "dot-of-few-rows-swapped",
        lambda: lowered(jnp.dot, _array(8, 512), _array(512, 16)),
    ),
    "a small matrix": (
        "dot-of-few-rows-swapped",
        lambda: lowered(jnp.dot, _array(1, 16), _array(16, 64)),
    ),
    "rows by batch": (
        "dot-of-few-rows-swapped",
        lambda: lowered(jnp.matmul, _array(4, 1, 64), _array(4, 64, 64)),
    ),
    "few rows of integers": (
        "dot-of-few-rows-swapped",
        lambda: lowered(jnp.dot, _array(1, 64, kind="int32"), _array(64, 128, kind="int32")),
    ),
}
"""Rule and program by the detail that is missing."""
