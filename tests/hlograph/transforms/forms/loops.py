"""Programs of the rules about loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from hypothesis import strategies as st

from tests.hlograph.transforms.forms.pattern import Programs, Refused, lowered

TYPES = (jnp.float32, jnp.float64)
SIZES = st.integers(2, 5)


def _array(*shape: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def _wide(function: Callable[[], str]) -> str:
    """Returns what the function does where JAX has 64 bits."""
    with jax.enable_x64(True):
        return function()


@st.composite
def recurrent(draw: st.DrawFn, *, gradient: bool = False) -> str:
    """Returns a recurrent network with projections of its inputs and outputs, or its gradient."""
    steps, batch, inputs, width = draw(SIZES), draw(SIZES), draw(SIZES), draw(SIZES)
    dtype, reverse = draw(st.sampled_from(TYPES)), draw(st.booleans())
    flipped = draw(st.booleans())

    def network(weights: Any, rows: Any, start: Any) -> Any:
        first, second, last = weights

        def step(state: Any, row: Any) -> Any:
            given = (first.T @ row.T).T if flipped else row @ first
            state = jnp.tanh(given + state @ second)
            return state, state @ last

        return jax.lax.scan(step, start, rows, reverse=reverse)[1]

    def loss(weights: Any, rows: Any, start: Any) -> Any:
        return (network(weights, rows, start) ** 2).sum()

    shapes = ((inputs, width), (width, width), (width, 3))
    weights = tuple(_array(*shape, dtype=dtype) for shape in shapes)
    rows = _array(steps, batch, inputs, dtype=dtype)
    start = _array(batch, width, dtype=dtype)
    function = jax.grad(loss, (0, 1)) if gradient else network
    return _wide(lambda: lowered(function, weights, rows, start))


@st.composite
def gated(draw: st.DrawFn) -> str:
    """Returns a network with gates, which are slices of projections of its inputs and state."""
    steps, batch, inputs, gates = draw(SIZES), draw(SIZES), draw(SIZES), draw(st.integers(2, 4))
    dtype, reverse = draw(st.sampled_from(TYPES)), draw(st.booleans())
    width = 8

    def network(weights: Any, rows: Any, start: Any) -> Any:
        def step(state: Any, row: Any) -> Any:
            given = row @ weights[0] + state @ weights[1]
            first, *others = jnp.split(given, gates, axis=-1)
            state = jnp.tanh(first) + sum(others)
            return state, state

        return jax.lax.scan(step, start, rows, reverse=reverse)

    shapes = ((inputs, gates * width), (width, gates * width))
    weights = tuple(_array(*shape, dtype=dtype) for shape in shapes)
    rows = _array(steps, batch, inputs, dtype=dtype)
    return _wide(lambda: lowered(network, weights, rows, _array(batch, width, dtype=dtype)))


@st.composite
def convolved(draw: st.DrawFn) -> str:
    """Returns a loop over images, each of which is convolved."""
    layout = draw(st.sampled_from([("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")]))
    numbers = jax.lax.conv_dimension_numbers((2, 4, 4, 4), (3, 3, 4, 4), layout)

    def network(kernel: Any, images: Any, start: Any) -> Any:
        def step(state: Any, image: Any) -> Any:
            given = jax.lax.conv_general_dilated(
                image, kernel, (1, 1), "SAME", dimension_numbers=numbers
            )
            return jnp.tanh(given + state), state.sum()

        return jax.lax.scan(step, start, images)

    kernel = (3, 3, 4, 4) if layout[1] == "HWIO" else (4, 4, 3, 3)
    return lowered(network, _array(*kernel), _array(3, 2, 4, 4, 4), _array(2, 4, 4, 4))


@st.composite
def random_walk(draw: st.DrawFn) -> str:
    """Returns a loop that draws random numbers and reads rows."""
    steps, size = draw(SIZES), draw(SIZES)
    start = draw(st.integers(0, 1))
    draws = draw(st.booleans())

    def walk(rng: Any, table: Any, place: Any) -> Any:
        def step(state: Any, key: Any) -> Any:
            move = jax.random.uniform(key, (size,)) if draws else jnp.exp(key / 2.0**32)
            return state * 0.5 + move.sum(), state.max()

        def more(i: Any, state: Any) -> Any:
            return jnp.sin(table[i]) * state + i

        place = jax.lax.scan(step, place, jax.random.split(rng, steps))
        return place[1], jax.lax.fori_loop(start, steps, more, place[0])

    return lowered(walk, jax.random.PRNGKey(0), _array(steps, size), _array(size))


@st.composite
def counted(draw: st.DrawFn, at_least: int, at_most: int) -> str:
    """Returns loops of this many iterations, one with an inner loop."""
    steps, size = draw(st.integers(at_least, at_most)), draw(SIZES)
    start = draw(st.integers(0, 3))

    def run(rows: Any, state: Any) -> Any:
        def step(pair: Any, row: Any) -> Any:
            one, two = pair
            return (two, jnp.tanh(one * row) + two), one.sum()

        def more(i: Any, one: Any) -> Any:
            return one.at[i % size].add(i)

        (one, two), sums = jax.lax.scan(step, (state, state + 1), rows)
        return one, jax.lax.fori_loop(start, start + steps, more, two), sums

    return lowered(run, _array(steps, size), _array(size))


def _iterated(function: Callable[..., Any], *more: Any) -> Callable[[], str]:
    """Returns a loop of 5 iterations over rows, each of which is multiplied with more."""

    def run(rows: Any, state: Any, *rest: Any) -> Any:
        return jax.lax.scan(lambda s, row: function(s, row, *rest), state, rows)

    return lambda: lowered(run, _array(5, 2, 3), _array(2, 3), *more)


SQUARE = _array(3, 3)


def _while_below() -> str:
    def run(rows: Any, weights: Any) -> Any:
        def step(pair: Any) -> Any:
            i, state = pair
            return i + 1, state + rows[i] @ weights

        start = (0, jnp.zeros((2, 3)))
        return jax.lax.while_loop(lambda pair: pair[1].sum() < 100, step, start)

    return lowered(run, _array(5, 2, 3), SQUARE)


def _long() -> str:
    return lowered(
        lambda x: jax.lax.fori_loop(0, 17, lambda i, state: state * 0.5 + i, x), _array(3)
    )


def _short() -> str:
    return lowered(
        lambda x: jax.lax.fori_loop(0, 3, lambda i, state: state * 0.5 + i, x), _array(3)
    )


def _stencil() -> str:
    def step(_: Any, field: Any) -> Any:
        return field + 0.1 * (jnp.roll(field, 1) + jnp.roll(field, -1))

    return lowered(lambda x: jax.lax.fori_loop(0, 16, step, x), _array(64))


PROGRAMS: Programs = {
    "hoist-projection": lambda: st.one_of(gated(), recurrent(), convolved()),
    "hoist-iterations": random_walk,
    "sink-projection": recurrent,
    "sink-accumulation": lambda: recurrent(gradient=True),
    "unroll-loop:4": lambda: counted(8, 11),
    "unroll-loop:8": lambda: counted(16, 19),
    "unroll-loop:whole": lambda: counted(1, 6),
}
"""Strategies for programs, by the name of the rule."""

REFUSED: Refused = {
    "hoist-projection: of the state": (
        "hoist-projection",
        _iterated(lambda s, x, w: (jnp.tanh(s @ w) + x, s.sum()), SQUARE),
    ),
    "hoist-projection: of weights that change": (
        "hoist-projection",
        _iterated(lambda s, x: (s + x @ s.T @ s, None)),
    ),
    "hoist-projection: unknown number of iterations": ("hoist-projection", _while_below),
    "hoist-iterations: cheap": (
        "hoist-iterations",
        _iterated(lambda s, x: (s * (x + 1), s.sum())),
    ),
    "hoist-iterations: of the state": (
        "hoist-iterations",
        _iterated(lambda s, x: (jnp.tanh(s) + x, s.sum())),
    ),
    "sink-projection: the state is projected": (
        "sink-projection",
        _iterated(lambda s, x, w: ((s + x) @ w, x), SQUARE),
    ),
    "sink-projection: also needed by the state": (
        "sink-projection",
        _iterated(lambda s, x, w: ((y := jnp.tanh(s) @ w), y), SQUARE),
    ),
    "sink-accumulation: the sum is read": (
        "sink-accumulation",
        _iterated(lambda s, x: (s + x @ jnp.ones((3, 3)), s.sum())),
    ),
    "sink-accumulation: of the sum itself": (
        "sink-accumulation",
        _iterated(lambda s, x: (s + jnp.tanh(s) @ x.T @ x, None)),
    ),
    "unroll-loop:4: stencil": ("unroll-loop:4", _stencil),
    "unroll-loop:4: unknown number of iterations": ("unroll-loop:4", _while_below),
    "unroll-loop:4: too few iterations": ("unroll-loop:4", _short),
    "unroll-loop:8: stencil": ("unroll-loop:8", _stencil),
    "unroll-loop:8: unknown number of iterations": ("unroll-loop:8", _while_below),
    "unroll-loop:8: too few iterations": ("unroll-loop:8", _short),
    "unroll-loop:whole: stencil": ("unroll-loop:whole", _stencil),
    "unroll-loop:whole: unknown number of iterations": ("unroll-loop:whole", _while_below),
    "unroll-loop:whole: too many iterations": ("unroll-loop:whole", _long),
}
"""Programs that a rule refuses, by the detail that they lack."""
