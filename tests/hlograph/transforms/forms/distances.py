"""Random programs with the patterns of the rules for distances, and programs that they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from hypothesis import strategies as st

from tests.hlograph.transforms.forms.pattern import Programs, Refused, lowered


def floats(*shape: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def squares(x: jax.Array, c: jax.Array) -> jax.Array:
    return jnp.sum((x[:, None] - c[None]) ** 2, axis=-1)


def outer(x: jax.Array, c: jax.Array) -> jax.Array:
    """Returns squared distances with the shared dimension first."""
    return jnp.sum((x.T[:, :, None] - c.T[:, None]) ** 2, axis=0)


def batched(x: jax.Array, c: jax.Array) -> jax.Array:
    return jax.vmap(squares)(jnp.stack([x, 2 * x]), jnp.stack([c, c + 1]))


def with_itself(x: jax.Array, _: jax.Array) -> jax.Array:
    return squares(x, x)


def scaled(x: jax.Array, c: jax.Array) -> jax.Array:
    return jnp.sum(((x[:, None] - c + 0.5) / (1 + c[0, 0] ** 2)) ** 2, axis=-1)


def of_shifted(x: jax.Array, c: jax.Array) -> jax.Array:
    """Returns squared distances of points that are far from zero."""
    return squares(x + 30, c + 30)


def densities(x: jax.Array, c: jax.Array) -> jax.Array:
    spread = 1 + c**2
    return jnp.sum((x[:, None] - c) ** 2 / spread + jnp.log(spread), axis=-1)


def gradients(x: jax.Array, c: jax.Array) -> Any:
    return jax.grad(lambda x, c: jnp.exp(-0.1 * squares(x, c)).sum(), (0, 1))(x, c)


def own_gradient(x: jax.Array, _: jax.Array) -> jax.Array:
    return jax.grad(lambda x: jnp.sqrt(squares(x, x) + 0.01).sum())(x)


def forces(x: jax.Array, _: jax.Array) -> jax.Array:
    apart = x[:, None] - x[None]
    return jnp.sum(apart / (jnp.sum(apart**2, axis=-1, keepdims=True) + 0.1), axis=1)


def waves(x: jax.Array, c: jax.Array) -> jax.Array:
    return jnp.sum(jnp.where(x[:, None] > c, jnp.sin(x[:, None] - c), 0.1), axis=-1)


def farthest(x: jax.Array, c: jax.Array) -> Any:
    apart = x[:, None] - c[None]
    return jnp.max(apart, axis=-1), jnp.min(jnp.abs(apart), axis=-1)


@st.composite
def pairs(draw: st.DrawFn, functions: list[Callable[..., Any]], least: int, most: int) -> str:
    """Draws a function of two arrays of rows of one width."""
    function, width = draw(st.sampled_from(functions)), draw(st.integers(least, most))
    dtype = draw(st.sampled_from([jnp.float32, jnp.float64]))
    with jax.enable_x64(dtype == jnp.float64):
        x = floats(draw(st.integers(4, 7)), width, dtype=dtype)
        c = floats(draw(st.integers(4, 6)), width, dtype=dtype)
        return lowered(function, x, c)


PROGRAMS: Programs = {
    "distances-by-dot": lambda: pairs(
        [squares, outer, batched, with_itself, scaled, of_shifted], 4, 9
    ),
    "differences-by-dot": lambda: pairs([densities, gradients, own_gradient, forces], 4, 9),
    "short-sum-as-slices": lambda: pairs(
        [squares, outer, batched, with_itself, waves, farthest], 2, 8
    ),
}


def _pair(function: Callable[..., Any], width: int = 5, dtype: Any = jnp.float32) -> str:
    return lowered(function, floats(6, width, dtype=dtype), floats(4, width, dtype=dtype))


REFUSED: Refused = {
    "short rows": ("distances-by-dot", lambda: _pair(squares, 3)),
    "half precision": ("distances-by-dot", lambda: _pair(squares, 8, jnp.float16)),
    "differences of absolute values": (
        "distances-by-dot",
        lambda: _pair(lambda x, c: jnp.sum(jnp.abs(x[:, None] - c) ** 2, axis=-1)),
    ),
    "greatest square": (
        "distances-by-dot",
        lambda: _pair(lambda x, c: jnp.max((x[:, None] - c) ** 2, axis=-1)),
    ),
    "square of a difference of whole arrays": (
        "distances-by-dot",
        lambda: lowered(
            lambda x, c: jnp.sum((x - c) ** 2, axis=-1), floats(6, 5, 4), floats(6, 5, 4)
        ),
    ),
    "weights of all dimensions": (
        "differences-by-dot",
        lambda: lowered(
            lambda g, x, c: jnp.sum(g * (x[:, None] - c), axis=1),
            floats(6, 4, 5),
            floats(6, 5),
            floats(4, 5),
        ),
    ),
    "sum without products": (
        "differences-by-dot",
        lambda: _pair(lambda x, c: jnp.sum(x[:, None] - c, axis=-1)),
    ),
    "sum of products": (
        "differences-by-dot",
        lambda: _pair(lambda x, c: jnp.sum(x[:, None] * c[None], axis=-1)),
    ),
    "long sum": ("short-sum-as-slices", lambda: _pair(squares, 17)),
    "sum over one array": (
        "short-sum-as-slices",
        lambda: lowered(lambda x: jnp.sum(x**2, axis=-1), floats(6, 3)),
    ),
}
