"""Random programs with the patterns of the rules for windows, and programs that they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from hypothesis import strategies as st
from jax import lax

from tests.hlograph.transforms.forms.pattern import Programs, Refused, lowered


def _array(*sizes: int, kind: str = "float32") -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, kind)


def _pooled(combine: Callable[..., Any], start: Any, **window: Any) -> Callable[..., jax.Array]:
    def pooled(x: jax.Array) -> jax.Array:
        return lax.reduce_window(x, jnp.asarray(start, x.dtype), combine, **window)

    return pooled


def _window(
    *taps: int, strides: tuple[int, ...] | None = None, padding: Any = "VALID", **other: Any
) -> dict[str, Any]:
    return {
        "window_dimensions": taps,
        "window_strides": strides or (1,) * len(taps),
        "padding": padding,
        **other,
    }


_LEAST = {"float32": -jnp.inf, "float64": -jnp.inf, "int32": jnp.iinfo(jnp.int32).min}


@st.composite
def windows(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(["float32", "int32", "bool", "float64"]))
    combine, start = lax.add, 0
    if kind == "bool":
        combine, start = lax.bitwise_or, False
    elif draw(st.booleans()):
        combine, start = lax.max, _LEAST[kind]
    rank = draw(st.integers(1, 3))
    sizes, taps, strides, padding, dilation = [], [], [], [], []
    for _ in range(rank):
        taps.append(draw(st.sampled_from([1, 2, 3, 5, 9, 13])))
        strides.append(draw(st.integers(1, 3)))
        dilation.append(draw(st.integers(1, 2)))
        extent = (taps[-1] - 1) * dilation[-1] + 1
        padding.append((draw(st.integers(0, extent - 1)), draw(st.integers(0, extent - 1))))
        sizes.append(extent + draw(st.integers(2, 6)))
    if taps == [1] * rank and strides == [1] * rank:
        strides[0] = 2
    window = _window(
        *taps, strides=tuple(strides), padding=padding, window_dilation=tuple(dilation)
    )
    with jax.enable_x64(True):
        return lowered(_pooled(combine, start, **window), _array(*sizes, kind=kind))


def _gradient(**window: Any) -> Callable[..., jax.Array]:
    def gradient(x: jax.Array, change: jax.Array) -> jax.Array:
        pooled = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, **window)  # noqa: E731
        return jax.vjp(pooled, x)[1](change)[0]

    return gradient


def _gradient_text(sizes: tuple[int, ...], kind: str = "float32", **window: Any) -> str:
    pairs = zip(sizes, window["window_dimensions"], window["window_strides"], strict=True)
    result = [(size - taps) // stride + 1 for size, taps, stride in pairs]
    return lowered(_gradient(**window), _array(*sizes, kind=kind), _array(*result, kind=kind))


@st.composite
def gradients(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(["float32", "float64"]))
    taps = draw(st.sampled_from([(2, 2), (1, 3), (3, 3), (2, 1)]))
    strides = draw(st.sampled_from([taps, (1, 1), (2, 2), (3, 1)]))
    rest = (0, 0) if draw(st.booleans()) else (draw(st.integers(0, 2)), draw(st.integers(0, 2)))
    high = tuple(
        one * (draw(st.integers(2, 3)) - 1) + size + more
        for one, size, more in zip(strides, taps, rest, strict=True)
    )
    window = _window(1, *taps, 1, strides=(1, *strides, 1))
    with jax.enable_x64(True):
        return _gradient_text((2, *high, 3), kind, **window)


PROGRAMS: Programs = {
    "window-as-slices": windows,
    "window-gradient-by-comparison": gradients,
}

REFUSED: Refused = {
    "a cumulative sum": (
        "window-as-slices",
        lambda: lowered(lambda x: jnp.cumsum(x, axis=1), _array(4, 32)),
    ),
    "windows of many elements": (
        "window-as-slices",
        lambda: lowered(_pooled(lax.add, 0, **_window(65)), _array(80)),
    ),
    "an array with gaps": (
        "window-as-slices",
        lambda: lowered(_pooled(lax.add, 0, **_window(2, 2, base_dilation=(2, 1))), _array(8, 8)),
    ),
    "another start": (
        "window-as-slices",
        lambda: lowered(_pooled(lax.max, 0, **_window(2, 2)), _array(8, 8)),
    ),
    "half precision": (
        "window-as-slices",
        lambda: lowered(_pooled(lax.add, 0, **_window(2, 2)), _array(8, 8, kind="bfloat16")),
    ),
    "large windows with a gradient": (
        "window-gradient-by-comparison",
        lambda: _gradient_text((16, 16), **_window(5, 5)),
    ),
    "half precision of a gradient": (
        "window-gradient-by-comparison",
        lambda: _gradient_text((8, 8), "bfloat16", **_window(2, 2)),
    ),
}
"""Rule and program by the detail that is missing."""
