"""Programs of the rules about what loops carry."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from hypothesis import strategies as st

from tests.hlograph.transforms.forms.pattern import Programs, Refused, lowered

SIZES = st.integers(2, 5)


def _array(*shape: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


@st.composite
def rearranged(draw: st.DrawFn) -> str:
    """Returns a loop that transposes, cuts and joins weights in each iteration."""
    steps, batch = draw(st.integers(1, 5)), draw(SIZES)
    whole, joined, kept = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())

    def run(first: Any, second: Any, state: Any) -> Any:
        def step(i: Any, pair: Any) -> Any:
            state, last = pair
            weights = first.T if whole else first[:8, ::-1]
            if joined:
                weights = jnp.concatenate([weights, second], 1) @ jnp.ones((16, 8))
            return jnp.tanh(state @ weights + i), first.T if kept else last

        return jax.lax.fori_loop(0, steps, step, (state, first))

    def more(first: Any, second: Any, state: Any) -> Any:
        def going(pair: Any) -> Any:
            return pair[0].sum() < 100

        def step(pair: Any) -> Any:
            return jnp.abs(pair[0] @ first.T) + 1, pair[1] + second.T.sum()

        return jax.lax.while_loop(going, step, (state, second))

    function = draw(st.sampled_from([run, more]))
    return lowered(function, _array(8, 8), _array(8, 8), _array(batch, 8))


def _loop(step: Any, *more: jax.ShapeDtypeStruct, steps: int = 5) -> Any:
    def run(state: Any, *rest: Any) -> Any:
        return jax.lax.fori_loop(0, steps, lambda i, s: step(i, s, *rest), state)

    return lambda: lowered(run, _array(32, 32), *more)


SQUARE = _array(32, 32)


PROGRAMS: Programs = {
    "hoist-rearrangement": rearranged,
}
"""Strategies for programs, by the name of the rule."""

REFUSED: Refused = {
    "hoist-rearrangement: of the state": (
        "hoist-rearrangement",
        _loop(lambda _, s, w: s.T @ w, SQUARE),
    ),
    "hoist-rearrangement: of what is computed": (
        "hoist-rearrangement",
        _loop(lambda _, s, w: s @ jnp.exp(w).T, SQUARE),
    ),
}
"""Programs that a rule refuses, by the detail that they lack."""
