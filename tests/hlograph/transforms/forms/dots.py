"""Random programs with the patterns of the rules for dots, and programs that they refuse."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from hypothesis import strategies as st

from tests.hlograph.transforms.forms.pattern import Programs, Refused, lowered

EQUATIONS = ("ij,j->i", "j,ij->i", "j,j->", "ij,jk->ik", "ji,kj->ik", "bij,bjk->bik", "bij,bj->bi")
"""Products of arrays with one dimension to sum over, j."""

WIDE = (*EQUATIONS, "ijl,jlk->ik", "bjl,bljk->bk", "bijl,jkl->bik")


def floats(*shape: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


@st.composite
def products(draw: st.DrawFn, equations: tuple[str, ...]) -> str:
    """Draws a small product."""
    equation = draw(st.sampled_from(equations))
    dtype = draw(st.sampled_from([jnp.float32, jnp.float64]))
    sizes = {letter: draw(st.integers(1, 5)) for letter in "bijkl"}
    with jax.enable_x64(dtype == jnp.float64):
        operands = [
            floats(*(sizes[letter] for letter in letters), dtype=dtype)
            for letters in equation.split("->")[0].split(",")
        ]
        return lowered(lambda x, y: jnp.einsum(equation, x, y), *operands)


PROGRAMS: Programs = {
    "small-dot-as-sum": lambda: products(WIDE),
    "short-dot-as-slices": lambda: products(EQUATIONS),
}


def _product(x: jax.ShapeDtypeStruct, y: jax.ShapeDtypeStruct) -> str:
    return lowered(lambda x, y: x @ y, x, y)


REFUSED: Refused = {
    "large dot": ("small-dot-as-sum", lambda: _product(floats(96, 256), floats(256, 96))),
    "small dot of half precision": (
        "small-dot-as-sum",
        lambda: _product(floats(4, 4, dtype=jnp.float16), floats(4, 4, dtype=jnp.float16)),
    ),
    "long dot": ("short-dot-as-slices", lambda: _product(floats(4, 9), floats(9, 4))),
    "short dot of integers": (
        "short-dot-as-slices",
        lambda: _product(floats(4, 4, dtype=jnp.int32), floats(4, 4, dtype=jnp.int32)),
    ),
}
