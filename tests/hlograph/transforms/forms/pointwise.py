"""Random programs with the patterns of the rules for elementwise work, and refused ones."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from hypothesis import strategies as st

from tests.hlograph.transforms.forms.pattern import Programs, Refused, lowered


def _array(*sizes: int, kind: str = "float32") -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, kind)


@st.composite
def powers(draw: st.DrawFn) -> str:
    # JAX writes a constant of one element as an array, which the rule does not take for a scalar.
    sizes = draw(st.lists(st.integers(2, 9), max_size=3))
    exponent = draw(st.sampled_from([-2.5, -1.5, -0.75, -0.5, -0.25, 0.25, 0.75, 1.5, 3.5]))
    return lowered(lambda x: (x * x + 0.1) ** exponent, _array(*sizes))


@st.composite
def sines_of_sums(draw: st.DrawFn) -> str:
    function = draw(st.sampled_from([jnp.sin, jnp.cos]))
    sign = draw(st.sampled_from([-1, 1]))
    first, second = draw(st.integers(4, 9)), draw(st.integers(4, 9))

    def coupled(x: jax.Array, y: jax.Array) -> jax.Array:
        return function(x[:, None] + y if sign > 0 else x[:, None] - y)

    return lowered(coupled, _array(first), _array(second))


@st.composite
def sines(draw: st.DrawFn) -> str:
    function = draw(st.sampled_from([jnp.sin, jnp.cos]))
    sizes = draw(st.sampled_from([(512,), (600,), (32, 17), (8, 8, 9)]))
    scale = draw(st.sampled_from([1.0, 100.0, 1e6]))
    return lowered(lambda x: function(scale * x), _array(*sizes))


@st.composite
def remainders(draw: st.DrawFn) -> str:
    sizes = draw(st.sampled_from([(512,), (600,), (32, 17), (8, 8, 9)]))
    kind = draw(st.sampled_from(["float32", "float64"]))
    least = draw(st.sampled_from([0.01, 10.0]))
    x, y = _array(*sizes, kind=kind), _array(*(sizes if draw(st.booleans()) else ()), kind=kind)
    with jax.enable_x64(True):
        return lowered(lambda x, y: jax.lax.rem(x, jnp.broadcast_to(least + y * y, x.shape)), x, y)


@st.composite
def angles(draw: st.DrawFn) -> str:
    sizes = draw(st.sampled_from([(512,), (600,), (32, 17), (8, 8, 9)]))
    return lowered(lambda x, y: 0.5 * jnp.arctan2(x, y), _array(*sizes), _array(*sizes))


PROGRAMS: Programs = {
    "sine-by-polynomial": sines,
    "remainder-by-subtraction": remainders,
    "arctangent-by-polynomial": angles,
    "power-as-roots": powers,
    "sine-of-sum": sines_of_sums,
}

_ROWS = _array(16, 16)

REFUSED: Refused = {
    "an exponent that is no multiple of a quarter": (
        "power-as-roots",
        lambda: lowered(lambda x: x**2.3, _ROWS),
    ),
    "an exponent that is an array": (
        "power-as-roots",
        lambda: lowered(lambda x, y: x**y, _ROWS, _ROWS),
    ),
    "an angle for each element": (
        "sine-of-sum",
        lambda: lowered(lambda x, y: jnp.sin(x + y), _ROWS, _array(16)),
    ),
    "a tangent": (
        "sine-of-sum",
        lambda: lowered(lambda x: jnp.tan(x[:, None] - x), _array(16)),
    ),
    "sines of few elements": (
        "sine-by-polynomial",
        lambda: lowered(jnp.sin, _array(100)),
    ),
    "sines of half precision": (
        "sine-by-polynomial",
        lambda: lowered(jnp.sin, _array(32, 32, kind="bfloat16")),
    ),
    "remainders of few elements": (
        "remainder-by-subtraction",
        lambda: lowered(jax.lax.rem, _array(100), _array(100)),
    ),
    "remainders of integers": (
        "remainder-by-subtraction",
        lambda: lowered(jax.lax.rem, _array(32, 32, kind="int32"), _array(32, 32, kind="int32")),
    ),
    "angles of few points": (
        "arctangent-by-polynomial",
        lambda: lowered(jnp.arctan2, _array(100), _array(100)),
    ),
    "angles of half precision": (
        "arctangent-by-polynomial",
        lambda: lowered(
            jnp.arctan2, _array(32, 32, kind="bfloat16"), _array(32, 32, kind="bfloat16")
        ),
    ),
}
"""Rule and program by the detail that is missing."""
