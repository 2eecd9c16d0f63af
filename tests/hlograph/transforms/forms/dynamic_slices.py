"""Random programs that slice what a dynamic slice reads, and programs that the rule refuses."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from hypothesis import strategies as st
from jax import lax

from tests.hlograph.transforms.forms.pattern import Programs, Refused, lowered

RULE = "slice-of-dynamic-slice"


def _array(*sizes: int, kind: str = "float32") -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, kind)


@st.composite
def gates(draw: st.DrawFn) -> str:
    """Returns a loop whose steps take parts of the rows that they read."""
    kind = draw(st.sampled_from(["float32", "int32", "float64"]))
    steps, rows, parts = draw(st.integers(2, 4)), draw(st.integers(2, 3)), draw(st.integers(2, 4))
    added, reverse = draw(st.booleans()), draw(st.booleans())

    def network(series: jax.Array, start: jax.Array) -> jax.Array:
        def step(state: jax.Array, given: jax.Array) -> tuple[jax.Array, None]:
            if added:
                given = (given + 1) * jnp.tile(state, (1, parts))
            first, *others = jnp.split(given, parts, 1)
            return jnp.maximum(state, first) - sum(others), None

        return lax.scan(step, start, series, reverse=reverse)[0]

    with jax.enable_x64(True):
        series = _array(steps, rows, 8 * parts, kind=kind)
        return lowered(network, series, _array(rows, 8, kind=kind))


def _sliced(x: jax.Array, i: jax.Array, sizes: tuple[int, int], start: int, stop: int) -> jax.Array:
    return lax.slice_in_dim(lax.dynamic_slice(x, (i, i), sizes), start, stop, axis=1)


@st.composite
def clamped(draw: st.DrawFn) -> str:
    """Returns a dynamic slice with any index, and a slice of the dimension that it reads whole."""
    rows = draw(st.integers(1, 6))
    start = draw(st.integers(0, 15))
    stop = draw(st.integers(start + 16, 31))
    return lowered(
        lambda x, i: _sliced(x, i, (rows, 32), start, stop), _array(6, 32), _array(kind="int32")
    )


@st.composite
def programs(draw: st.DrawFn) -> str:
    return draw(draw(st.sampled_from([gates, clamped]))())


def _used_whole(x: jax.Array, i: jax.Array) -> tuple[jax.Array, jax.Array]:
    row = lax.dynamic_index_in_dim(x, i, keepdims=False) * 2
    return row[:16], row


def _overlapping(x: jax.Array, i: jax.Array) -> jax.Array:
    row = jnp.exp(lax.dynamic_index_in_dim(x, i, keepdims=False))
    return row[:24] + row[8:]


PROGRAMS: Programs = {RULE: programs}

REFUSED: Refused = {
    "slices of a dimension that is read in part": (
        RULE,
        lambda: lowered(
            lambda x, i: _sliced(x, i, (6, 24), 1, 20), _array(6, 32), _array(kind="int32")
        ),
    ),
    "a value that is used whole": (
        RULE,
        lambda: lowered(_used_whole, _array(6, 32), _array(kind="int32")),
    ),
    "overlapping slices": (
        RULE,
        lambda: lowered(_overlapping, _array(6, 32), _array(kind="int32")),
    ),
    "a stride": (
        RULE,
        lambda: lowered(
            lambda x, i: lax.dynamic_index_in_dim(x, i, keepdims=False)[::2],
            _array(6, 32),
            _array(kind="int32"),
        ),
    ),
    "no dynamic slice": (RULE, lambda: lowered(lambda x: (x + 1)[:2], _array(6, 32))),
    "a slice of few elements": (
        RULE,
        lambda: lowered(
            lambda x, i: lax.dynamic_index_in_dim(x, i, keepdims=False)[:15],
            _array(6, 32),
            _array(kind="int32"),
        ),
    ),
}
"""Rule and program by the detail that is missing."""
