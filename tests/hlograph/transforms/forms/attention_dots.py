"""Random dots of one row for each head, and programs that the rule for them refuses."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from hypothesis import strategies as st
from jax import lax

from tests.hlograph.transforms.forms.pattern import Programs, Refused, lowered


def _array(*sizes: int, kind: str = "float32") -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, kind)


def _of(equation: str) -> Callable[..., jax.Array]:
    return lambda x, y: jnp.einsum(equation, x, y)


@st.composite
def attention(draw: st.DrawFn) -> str:
    """Scores of keys or weighted sums of values, with the cache on either side."""
    batch, heads = draw(st.integers(1, 3)), draw(st.integers(2, 5))
    rows, elements = draw(st.integers(16, 20)), draw(st.integers(32, 40))
    kind = draw(st.sampled_from(["float32", "float64"]))
    cache = _array(batch, rows, heads, elements, kind=kind)
    query = _array(batch, 1, heads, elements, kind=kind)
    weights = _array(batch, heads, 1, rows, kind=kind)
    with jax.enable_x64(True):
        match draw(st.integers(0, 4)):
            case 0:
                return lowered(_of("bqhd,bkhd->bhqk"), query, cache)
            case 1:
                return lowered(_of("bkhd,bqhd->bhqk"), cache, query)
            case 2:
                return lowered(_of("bhqk,bkhd->bqhd"), weights, cache)
            case 3:
                numbers = (((1,), (2,)), ((2, 0), (0, 1)))
                row = _array(heads, batch, rows, kind=kind)
                return lowered(lambda x, y: lax.dot_general(x, y, numbers), cache, row)
            case _:
                single = _array(rows, heads, elements, kind=kind)
                row = _array(heads, elements, kind=kind)
                return lowered(_of("khd,hd->hk"), single, row)


PROGRAMS: Programs = {"heads-in-one-dot": attention}

REFUSED: Refused = {
    "several rows for each head": (
        "heads-in-one-dot",
        lambda: lowered(_of("bqhd,bkhd->bhqk"), _array(2, 3, 4, 32), _array(2, 16, 4, 32)),
    ),
    "heads before rows": (
        "heads-in-one-dot",
        lambda: lowered(_of("bhqd,bhkd->bhqk"), _array(2, 4, 1, 32), _array(2, 4, 16, 32)),
    ),
    "one head": (
        "heads-in-one-dot",
        lambda: lowered(_of("bqhd,bkhd->bhqk"), _array(1, 1, 1, 64), _array(1, 64, 1, 64)),
    ),
    "a small cache": (
        "heads-in-one-dot",
        lambda: lowered(_of("bqhd,bkhd->bhqk"), _array(1, 1, 4, 8), _array(1, 16, 4, 8)),
    ),
    "rows of integers": (
        "heads-in-one-dot",
        lambda: lowered(
            _of("bqhd,bkhd->bhqk"),
            _array(2, 1, 4, 32, kind="int32"),
            _array(2, 16, 4, 32, kind="int32"),
        ),
    ),
}
"""Rule and program by the detail that is missing."""
