"""Random programs with the patterns of the rules for reductions, and programs that they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from hypothesis import strategies as st

from tests.hlograph.transforms.forms.pattern import Programs, Refused, lowered


def _array(*sizes: int, kind: str = "float32") -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, kind)


_KINDS = ("float32", "int32")


@st.composite
def short_reductions(draw: st.DrawFn) -> str:
    reduce: Callable[..., Any] = draw(st.sampled_from([jnp.sum, jnp.max, jnp.min, jnp.prod]))
    sizes = [draw(st.integers(8, 12)), draw(st.integers(8, 12))]
    axis = draw(st.integers(0, 2))
    sizes.insert(axis, draw(st.integers(2, 16)))
    kind = draw(st.sampled_from(_KINDS))
    return lowered(lambda x: reduce(x, axis=axis), _array(*sizes, kind=kind))


@st.composite
def narrow_reductions(draw: st.DrawFn) -> str:
    reduce: Callable[..., Any] = draw(st.sampled_from([jnp.sum, jnp.max, jnp.min]))
    sizes = [draw(st.integers(16, 20)), draw(st.integers(32, 36)), draw(st.integers(2, 4))]
    axis = draw(st.sampled_from([0, 1, (0, 1)]))
    kind = draw(st.sampled_from(_KINDS))
    return lowered(lambda x: reduce(x, axis=axis), _array(*sizes, kind=kind))


@st.composite
def major_sums(draw: st.DrawFn) -> str:
    sizes = draw(st.sampled_from([(2, 1024), (7, 33, 40), (3, 5, 1030), (4, 1, 64, 16)]))
    kind = draw(st.sampled_from(["float32", "float64"]))
    axes = (0, 1) if sizes == (3, 5, 1030) else (0,)
    with jax.enable_x64(True):
        return lowered(lambda x: jnp.sum(x, axis=axes), _array(*sizes, kind=kind))


@st.composite
def major_reductions(draw: st.DrawFn) -> str:
    reduce: Callable[..., Any] = draw(st.sampled_from([jnp.sum, jnp.max, jnp.min]))
    axes, sizes = draw(
        st.sampled_from(
            [((0,), (8, 1024)), ((0,), (31, 33, 40)), ((0, 1), (3, 7, 1030)), ((0,), (23, 1025))]
        )
    )
    kind = draw(st.sampled_from(_KINDS))
    return lowered(lambda x: reduce(x, axis=axes), _array(*sizes, kind=kind))


PROGRAMS: Programs = {
    "major-sum-as-dot": major_sums,
    "major-reduction-by-halves": major_reductions,
    "narrow-reduction-by-slices": narrow_reductions,
    "short-reduction-as-sum": short_reductions,
}

REFUSED: Refused = {
    "a sum over the minor dimension": (
        "major-sum-as-dot",
        lambda: lowered(lambda x: jnp.sum(x, axis=1), _array(1024, 32)),
    ),
    "a narrow sum": (
        "major-sum-as-dot",
        lambda: lowered(lambda x: jnp.sum(x, axis=0), _array(1024, 32)),
    ),
    "a sum of integers": (
        "major-sum-as-dot",
        lambda: lowered(lambda x: jnp.sum(x, axis=0), _array(32, 1024, kind="int32")),
    ),
    "a maximum": (
        "major-sum-as-dot",
        lambda: lowered(lambda x: jnp.max(x, axis=0), _array(32, 1024)),
    ),
    "a dimension in the middle": (
        "major-reduction-by-halves",
        lambda: lowered(lambda x: jnp.max(x, axis=1), _array(2, 32, 1024)),
    ),
    "few rows": (
        "major-reduction-by-halves",
        lambda: lowered(lambda x: jnp.max(x, axis=0), _array(7, 1024)),
    ),
    "a mean of booleans": (
        "major-reduction-by-halves",
        lambda: lowered(lambda x: jnp.any(x, axis=0), _array(32, 1024, kind="bool")),
    ),
    "a dimension of many elements": (
        "short-reduction-as-sum",
        lambda: lowered(lambda x: jnp.sum(x, axis=1), _array(64, 17)),
    ),
    "few results": (
        "short-reduction-as-sum",
        lambda: lowered(lambda x: jnp.sum(x, axis=1), _array(16, 3)),
    ),
    "two dimensions": (
        "short-reduction-as-sum",
        lambda: lowered(lambda x: jnp.sum(x, axis=(1, 2)), _array(64, 2, 2)),
    ),
    "an index too": (
        "short-reduction-as-sum",
        lambda: lowered(lambda x: jnp.argmax(x, axis=1), _array(64, 3)),
    ),
    "a wide minor dimension": (
        "narrow-reduction-by-slices",
        lambda: lowered(lambda x: jnp.sum(x, axis=0), _array(512, 8)),
    ),
    "a reduced minor dimension": (
        "narrow-reduction-by-slices",
        lambda: lowered(lambda x: jnp.sum(x, axis=1), _array(512, 3)),
    ),
}
"""Rule and program by the detail that is missing."""
