"""Programs of the rules about cumulative sums, products and extremes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from hypothesis import strategies as st

from tests.hlograph.transforms.forms.pattern import Programs, Refused, lowered


def _of(function: Callable[..., Any], *shape: int, dtype: Any = jnp.float32) -> str:
    return lowered(function, jax.ShapeDtypeStruct(shape, dtype))


@st.composite
def cumulative(draw: st.DrawFn, functions: tuple[Callable[..., Any], ...]) -> str:
    """Returns a cumulative operation along any dimension, from either end."""
    sizes = [draw(st.integers(1, 4)) for _ in range(draw(st.integers(0, 2)))]
    axis, reverse = draw(st.integers(0, len(sizes))), draw(st.booleans())
    sizes.insert(axis, draw(st.sampled_from([8, 20, 128, 129, 200, 8200])))
    function = draw(st.sampled_from(functions))
    dtype = draw(st.sampled_from([jnp.float32, jnp.int32]))
    values = jnp.sin if dtype == jnp.float32 else jnp.negative
    return _of(lambda x: function(values(x), axis=axis, reverse=reverse), *sizes, dtype=dtype)


SUMS = (jax.lax.cumsum,)
OTHERS = (jax.lax.cumprod, jax.lax.cummax, jax.lax.cummin)
ALL = (*SUMS, *OTHERS)

PROGRAMS: Programs = {
    "cumulative-sum-in-blocks": lambda: cumulative(SUMS),
    "cumulative-in-blocks": lambda: cumulative(OTHERS),
    "cumulative-by-loop": lambda: cumulative(ALL),
}
"""Strategies for programs, by the name of the rule."""


def _moving(x: Any) -> Any:
    return jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 4), (1, 1), "SAME")


REFUSED: Refused = {
    "cumulative-sum-in-blocks: product": (
        "cumulative-sum-in-blocks",
        lambda: _of(jax.lax.cumprod, 32),
    ),
    "cumulative-sum-in-blocks: short windows": (
        "cumulative-sum-in-blocks",
        lambda: _of(_moving, 2, 32),
    ),
    "cumulative-sum-in-blocks: few elements": (
        "cumulative-sum-in-blocks",
        lambda: _of(jax.lax.cumsum, 7),
    ),
    "cumulative-in-blocks: sum": ("cumulative-in-blocks", lambda: _of(jax.lax.cumsum, 32)),
    "cumulative-by-loop: short windows": ("cumulative-by-loop", lambda: _of(_moving, 2, 32)),
    "cumulative-by-loop: few elements": ("cumulative-by-loop", lambda: _of(jax.lax.cumsum, 4)),
    "cumulative-by-loop: long sums": (
        "cumulative-by-loop",
        lambda: _of(jax.lax.cumsum, 32768),
    ),
}
"""Programs that a rule refuses, by the detail that they lack."""
