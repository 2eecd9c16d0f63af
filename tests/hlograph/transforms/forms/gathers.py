"""Random programs with the patterns of the rules for gathers, and programs that they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from hypothesis import strategies as st

from tests.hlograph.transforms.forms.pattern import Programs, Refused, lowered


def _array(*sizes: int, kind: str = "float32") -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, kind)


def _frames(length: int, hop: int, width: int) -> jax.Array:
    count = (length - width) // hop + 1
    return hop * jnp.arange(count)[:, None] + jnp.arange(width)


def _windows(x: jax.Array, starts: jax.Array, width: int) -> jax.Array:
    def window(start: jax.Array) -> jax.Array:
        return jax.lax.dynamic_slice_in_dim(x, start, width, axis=1)

    return jax.vmap(window)(starts)


def _positions(draw: st.DrawFn, size: int) -> Callable[[], jax.Array]:
    """Returns a function that computes positions below the size, with a pattern."""
    factor, shift = draw(st.integers(2, 4)), draw(st.integers(1, size - 1))
    bit = draw(st.sampled_from([1, 2, 4]))
    hop, width = draw(st.integers(1, 5)), draw(st.integers(2, 7))
    patterns: list[Callable[[], jax.Array]] = [
        lambda: jnp.arange(size) ^ bit,
        lambda: (jnp.arange(size) + shift) % size,
        lambda: jnp.arange(factor * size) // factor,
        lambda: jnp.arange(2 * size) % size,
        lambda: size - 1 - jnp.arange(size),
        lambda: factor * jnp.arange(size // factor + 3),
        lambda: jnp.concatenate([jnp.arange(4, 9), jnp.arange(3)]),
        lambda: jnp.arange(size).reshape(-1, 2)[:, ::-1].reshape(-1),
        lambda: jnp.floor((jnp.arange(2 * size) + 0.5) * size / (2 * size)).astype(int),
        lambda: _frames(size, hop, width),
    ]
    return draw(st.sampled_from(patterns))


@st.composite
def known_gathers(draw: st.DrawFn) -> str:
    sizes = [draw(st.integers(1, 3)), draw(st.integers(1, 3))]
    axis = draw(st.integers(0, 2))
    size = draw(st.sampled_from([16, 24]))
    sizes.insert(axis, size)
    kind = draw(st.sampled_from(["float32", "int32", "bfloat16", "complex64"]))
    if draw(st.booleans()):
        positions = _positions(draw, size)
        mode = draw(st.sampled_from(["fill", "clip", "wrap"]))
        return lowered(
            lambda x: jnp.take(x, positions(), axis=axis, mode=mode), _array(*sizes, kind=kind)
        )
    hop, width = draw(st.integers(1, 5)), draw(st.integers(2, 7))
    count = draw(st.integers(2, 6))
    return lowered(
        lambda x: _windows(x, hop * jnp.arange(count), width),
        _array(draw(st.integers(1, 3)), size, kind=kind),
    )


def _taken(positions: Callable[[], Any], *sizes: int, axis: int = 0) -> str:
    return lowered(
        lambda x: jnp.take(x, jnp.asarray(positions()), axis=axis, mode="clip"), _array(*sizes)
    )


PROGRAMS: Programs = {"gather-as-slices": known_gathers}

REFUSED: Refused = {
    "positions that are given": (
        "gather-as-slices",
        lambda: lowered(lambda x, i: x[i], _array(16, 3), _array(16, kind="int32")),
    ),
    "positions without a pattern": (
        "gather-as-slices",
        lambda: _taken(lambda: jnp.arange(64) ** 2 % 37, 64, 3),
    ),
    "quotients near an integer": (
        "gather-as-slices",
        lambda: _taken(lambda: jnp.floor(jnp.arange(16) * 3.0 / 7.0).astype(int), 16, 3),
    ),
    "positions along two dimensions": (
        "gather-as-slices",
        lambda: lowered(lambda x: x[jnp.arange(16), jnp.arange(16)], _array(16, 16)),
    ),
    "one position": (
        "gather-as-slices",
        lambda: _taken(lambda: jnp.arange(1) + 3, 16, 3),
    ),
}
"""Rule and program by the detail that is missing."""
