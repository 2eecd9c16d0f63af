"""Random products that contract far more than they leave, and programs that the rule refuses."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from hypothesis import strategies as st
from jax import lax

from tests.hlograph.transforms.forms.pattern import Programs, Refused, lowered

RULE = "contraction-in-parts"


def _array(*sizes: int, kind: str = "float32") -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, kind)


def _gradient(x: jax.Array, y: jax.Array, contracted: int = 1) -> jax.Array:
    """Returns the product of two arrays over their first dimensions."""
    first = tuple(range(contracted))
    numbers = ((first, first), ((), ()))
    return lax.dot_general(x, y, numbers, precision=("highest", "default"))


@st.composite
def long_contractions(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(["float32", "float64"]))
    contracted = draw(st.sampled_from([(1024,), (1028,), (2, 514), (2, 256, 3)]))
    rows, columns = draw(st.integers(32, 48)), draw(st.integers(32, 48))
    left = (rows,) if draw(st.booleans()) else (2, rows // 2)
    right = (columns,) if draw(st.booleans()) else (columns // 2, 2)

    def gradient(x: jax.Array, y: jax.Array) -> jax.Array:
        return _gradient(x, y, len(contracted))

    with jax.enable_x64(True):
        arrays = (_array(*contracted, *left, kind=kind), _array(*contracted, *right, kind=kind))
        return lowered(gradient, *arrays)


PROGRAMS: Programs = {RULE: long_contractions}

REFUSED: Refused = {
    "few contracted elements": (
        RULE,
        lambda: lowered(_gradient, _array(512, 32), _array(512, 32)),
    ),
    "a wide operand": (RULE, lambda: lowered(_gradient, _array(1024, 32), _array(1024, 128))),
    "few results": (RULE, lambda: lowered(_gradient, _array(1024, 4), _array(1024, 64))),
    "no four equal parts": (RULE, lambda: lowered(_gradient, _array(1026, 32), _array(1026, 32))),
    "contracted along rows": (RULE, lambda: lowered(jnp.dot, _array(32, 1024), _array(1024, 32))),
    "long contraction of integers": (
        RULE,
        lambda: lowered(_gradient, _array(1024, 32, kind="int32"), _array(1024, 32, kind="int32")),
    ),
}
"""Rule and program by the detail that is missing."""
