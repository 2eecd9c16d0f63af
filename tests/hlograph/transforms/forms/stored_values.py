"""Random programs with the patterns of the rules for stored values, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from hypothesis import strategies as st

from tests.hlograph.transforms.forms.pattern import Programs, Refused, lowered


def _array(*sizes: int, kind: str = "float32") -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, kind)


def _pointwise(draw: st.DrawFn) -> Callable[[jax.Array], jax.Array]:
    functions: list[Callable[[jax.Array], jax.Array]] = [
        jnp.tanh,
        lambda x: jnp.exp(x - x[:1] * 0.5),
        lambda x: 1.0 / (1.0 + x * x),
        lambda x: jnp.where(x > 0, jnp.exp(-x), 1.0) + 3.0,
    ]
    return draw(st.sampled_from(functions))


@st.composite
def gathered_values(draw: st.DrawFn) -> str:
    function = _pointwise(draw)
    rows, width = draw(st.integers(64, 80)), draw(st.integers(16, 20))
    mode = draw(st.sampled_from(["fill", "clip"]))
    return lowered(
        lambda x, i: jnp.take(function(x), i, axis=0, mode=mode),
        _array(rows, width),
        _array(draw(st.integers(1, 100)), kind="int32"),
    )


@st.composite
def repeated_values(draw: st.DrawFn) -> str:
    functions: list[Callable[[jax.Array], jax.Array]] = [
        jnp.sin,
        jnp.cos,
        lambda x: 1.5 * jnp.cos(x) + 0.5,
    ]
    function = draw(st.sampled_from(functions))
    length, axis = draw(st.integers(8, 40)), draw(st.integers(0, 2))
    sizes = [draw(st.integers(12, 16)) for _ in range(2)]
    sizes.insert(axis, length)
    rank_one = [length if i == axis else 1 for i in range(3)]
    return lowered(lambda x, y: function(x).reshape(rank_one) * y, _array(length), _array(*sizes))


PROGRAMS: Programs = {
    "stored-gather-table": gathered_values,
    "stored-repeated-sine": repeated_values,
}

_SMALL, _LARGE = (8, 4), (64, 32)
_INDICES = _array(16, kind="int32")

REFUSED: Refused = {
    "a table that is given": (
        "stored-gather-table",
        lambda: lowered(lambda x, i: x[i], _array(*_LARGE), _INDICES),
    ),
    "computed indices": (
        "stored-gather-table",
        lambda: lowered(lambda x, i: x[2 * i], _array(*_LARGE), _array(2048, kind="int32")),
    ),
    "a small table": (
        "stored-gather-table",
        lambda: lowered(lambda x, i: jnp.tanh(x)[i], _array(*_SMALL), _INDICES),
    ),
    "a cheap function, repeated": (
        "stored-repeated-sine",
        lambda: lowered(lambda x, y: (x + 1) * y, _array(32), _array(*_LARGE)),
    ),
    "exponentials, repeated": (
        "stored-repeated-sine",
        lambda: lowered(lambda x, y: jnp.exp(x) * y, _array(32), _array(*_LARGE)),
    ),
    "repeated before the function": (
        "stored-repeated-sine",
        lambda: lowered(lambda x, y: jnp.sin(x + y), _array(32), _array(*_LARGE)),
    ),
    "few repetitions": (
        "stored-repeated-sine",
        lambda: lowered(lambda x, y: jnp.sin(x) * y, _array(1024), _array(3, 1024)),
    ),
}
"""Rule and program by the detail that is missing."""
