"""Rules about loops and what they carry."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program


def recurrent(*arguments: jax.Array, flip: bool = False, reverse: bool = False) -> Any:
    """Runs a recurrent network of three weights on a series, and projects its states."""
    first, second, last, series, start = arguments

    def step(state: jax.Array, row: jax.Array) -> Any:
        given = (first.T @ row.T).T if flip else row @ first
        state = jnp.tanh(given + state @ second)
        return state, state @ last

    return lax.scan(step, start, series, reverse=reverse)[1]


def recurrent_loss(*arguments: jax.Array) -> Any:
    """Returns gradients of the weights."""
    return jax.grad(lambda *given: (recurrent(*given) ** 2).mean(), (0, 1, 2))(*arguments)


def random_walk(rng: jax.Array, places: jax.Array) -> Any:
    """Moves places by random numbers."""

    def step(places: jax.Array, key: jax.Array) -> Any:
        return 0.99 * places + jax.random.uniform(key, places.shape), places.sum()

    return lax.scan(step, places, jax.random.split(rng, 200))


def variates(rng: jax.Array) -> Any:
    """Draws random numbers."""
    return jax.random.uniform(rng, (256, 1024))


def gated(weights: jax.Array, series: jax.Array, start: jax.Array) -> Any:
    """Runs a network with gated recurrent units."""

    def step(state: jax.Array, row: jax.Array) -> Any:
        gates = jax.nn.sigmoid(jnp.concatenate([row, state], -1) @ weights[:, :512])
        reset, update = jnp.split(gates, 2, axis=-1)
        new = jnp.tanh(jnp.concatenate([row, reset * state], -1) @ weights[:, 512:])
        state = update * state + (1 - update) * new
        return state, state

    return lax.scan(step, start, series)[1]


def small_system(matrix: jax.Array, state: jax.Array) -> Any:
    """Solves a small differential equation."""

    def step(state: jax.Array, _: None) -> Any:
        middle = state + 0.005 * jnp.tanh(matrix @ state)
        state = state + 0.01 * jnp.tanh(matrix @ middle)
        return state, state

    return lax.scan(step, state, length=2000)


def network(
    batch: int, steps: int, inputs: int, width: int, outputs: int, dtype: Any
) -> tuple[Any, ...]:
    """Returns the shapes of a recurrent network's arguments."""
    shapes = ((inputs, width), (width, width), (width, outputs))
    weights = tuple(array(*shape, dtype=dtype) for shape in shapes)
    return *weights, array(steps, batch, inputs, dtype=dtype), array(batch, width, dtype=dtype)


TYPES = (jnp.float32, jnp.float64)


def draw_network(rng: Random, *, gradient: bool = False) -> str:
    """Draws a recurrent network with projections of its inputs and outputs, or its gradient."""
    steps, batch, inputs, width = (rng.randint(2, 5) for _ in range(4))
    dtype = rng.choice(TYPES)
    run = partial(recurrent, flip=rng.random() < 0.5, reverse=rng.random() < 0.5)

    def loss(*arguments: Any) -> Any:
        return (run(*arguments) ** 2).sum()

    function = jax.grad(loss, (0, 1, 2, 3)) if gradient else run
    return lowered(function, *network(batch, steps, inputs, width, 3, dtype))


def draw_gates(rng: Random) -> str:
    """Draws a network with gates, which are slices of projections of its inputs and state."""
    steps, batch, inputs = (rng.randint(2, 5) for _ in range(3))
    gates, width = rng.randint(2, 4), 8
    dtype, reverse = rng.choice(TYPES), rng.random() < 0.5

    def gated(weights: Any, rows: Any, start: Any) -> Any:
        def step(state: Any, row: Any) -> Any:
            given = row @ weights[0] + state @ weights[1]
            first, *others = jnp.split(given, gates, axis=-1)
            state = jnp.tanh(first) + sum(others)
            return state, state

        return lax.scan(step, start, rows, reverse=reverse)

    shapes = ((inputs, gates * width), (width, gates * width))
    weights = tuple(array(*shape, dtype=dtype) for shape in shapes)
    rows = array(steps, batch, inputs, dtype=dtype)
    return lowered(gated, weights, rows, array(batch, width, dtype=dtype))


def draw_convolutions(rng: Random) -> str:
    """Draws a loop over images, each of which is convolved."""
    layout = rng.choice([("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")])
    numbers = lax.conv_dimension_numbers((2, 4, 4, 4), (3, 3, 4, 4), layout)

    def convolved(kernel: Any, images: Any, start: Any) -> Any:
        def step(state: Any, image: Any) -> Any:
            given = lax.conv_general_dilated(
                image, kernel, (1, 1), "SAME", dimension_numbers=numbers
            )
            return jnp.tanh(given + state), state.sum()

        return lax.scan(step, start, images)

    kernel = (3, 3, 4, 4) if layout[1] == "HWIO" else (4, 4, 3, 3)
    return lowered(convolved, array(*kernel), array(3, 2, 4, 4, 4), array(2, 4, 4, 4))


def draw_walk(rng: Random) -> str:
    """Draws a loop that draws random numbers and reads rows."""
    steps, size = rng.randint(2, 5), rng.randint(2, 5)
    start = rng.randint(0, 1)
    draws = rng.random() < 0.5

    def walk(rng: Any, table: Any, place: Any) -> Any:
        def step(state: Any, key: Any) -> Any:
            move = jax.random.uniform(key, (size,)) if draws else jnp.exp(key / 2.0**32)
            return state * 0.5 + move.sum(), state.max()

        def more(i: Any, state: Any) -> Any:
            return jnp.sin(table[i]) * state + i

        place = lax.scan(step, place, jax.random.split(rng, steps))
        return place[1], lax.fori_loop(start, steps, more, place[0])

    return lowered(walk, jax.random.PRNGKey(0), array(steps, size), array(size))


def draw_iterations(rng: Random, at_least: int, at_most: int) -> str:
    """Draws loops of this many iterations, one with an inner loop."""
    steps, size = rng.randint(at_least, at_most), rng.randint(2, 5)
    start = rng.randint(0, 3)

    def run(rows: Any, state: Any) -> Any:
        def step(pair: Any, row: Any) -> Any:
            first, second = pair
            return (second, jnp.tanh(first * row) + second), first.sum()

        def more(i: Any, state: Any) -> Any:
            return state.at[i % size].add(i)

        (first, second), sums = lax.scan(step, (state, state + 1), rows)
        return first, lax.fori_loop(start, start + steps, more, second), sums

    return lowered(run, array(steps, size), array(size))


def _iterated(function: Callable[..., Any], more: str = "") -> Callable[[], str]:
    """Returns a loop of 5 iterations over rows, each of which is multiplied with more."""

    def run(rows: Any, state: Any, *rest: Any) -> Any:
        return lax.scan(lambda s, row: function(s, row, *rest), state, rows)

    return program(run, f"5x2x3 2x3 {more}")


def _while_below(rows: Any, weights: Any) -> Any:
    def step(pair: Any) -> Any:
        i, state = pair
        return i + 1, state + rows[i] @ weights

    start = (0, jnp.zeros((2, 3)))
    return lax.while_loop(lambda pair: pair[1].sum() < 100, step, start)


def _halved(steps: int) -> Callable[[], str]:
    def run(state: Any) -> Any:
        return lax.fori_loop(0, steps, lambda i, state: state * 0.5 + i, state)

    return program(run, "3")


def _stencil(field: Any) -> Any:
    def step(_: Any, field: Any) -> Any:
        return field + 0.1 * (jnp.roll(field, 1) + jnp.roll(field, -1))

    return lax.fori_loop(0, 16, step, field)


UNKNOWN = {"unknown number of iterations": program(_while_below, "5x2x3 3x3")}
NEVER_UNROLLED = UNKNOWN | {"stencil": program(_stencil, "64")}


def decode(*arguments: jax.Array) -> jax.Array:
    """Runs layers and the output of a language model, with weights by output, for 24 tokens."""
    *weights, embedding, state = arguments
    layers = [weights[i : i + 4] for i in range(0, len(weights), 4)]

    def step(_: int, state: jax.Array) -> jax.Array:
        for first, first_bias, second, second_bias in layers:
            inner = jax.nn.gelu(state @ first.T + first_bias)
            state = state + (inner @ second.T + second_bias)
        token = jnp.argmax(state @ embedding.T, -1)
        return state + embedding[token]

    return lax.fori_loop(0, 24, step, state)


def gated_inputs(weights: jax.Array, series: jax.Array, start: jax.Array) -> Any:
    """Runs a network with gated recurrent units, on inputs that are projected already."""

    def step(state: jax.Array, row: jax.Array) -> Any:
        gates = jax.nn.sigmoid(row[:, :512] + state @ weights[:, :512])
        reset, update = jnp.split(gates, 2, axis=-1)
        new = jnp.tanh(row[:, 512:] + (reset * state) @ weights[:, 512:])
        state = update * state + (1 - update) * new
        return state, state

    return lax.scan(step, start, series)[1]


def rearranged(rng: Random) -> str:
    """Draws a loop that transposes, cuts and joins weights in each iteration."""
    steps, batch = rng.randint(1, 5), rng.randint(2, 5)
    whole, joined, kept = rng.random() < 0.5, rng.random() < 0.5, rng.random() < 0.5

    def run(first: Any, second: Any, state: Any) -> Any:
        def step(i: Any, pair: Any) -> Any:
            state, last = pair
            weights = first.T if whole else first[:8, ::-1]
            if joined:
                weights = jnp.concatenate([weights, second], 1) @ jnp.ones((16, 8))
            return jnp.tanh(state @ weights + i), first.T if kept else last

        return lax.fori_loop(0, steps, step, (state, first))

    def more(first: Any, second: Any, state: Any) -> Any:
        def going(pair: Any) -> Any:
            return pair[0].sum() < 100

        def step(pair: Any) -> Any:
            return jnp.abs(pair[0] @ first.T) + 1, pair[1] + second.T.sum()

        return lax.while_loop(going, step, (state, second))

    function = rng.choice([run, more])
    return lowered(function, array(8, 8), array(8, 8), array(batch, 8))


def _loop(step: Callable[[Any, Any], Any]) -> Callable[[], str]:
    def run(state: Any, weights: Any) -> Any:
        return lax.fori_loop(0, 5, lambda _, s: step(s, weights), state)

    return program(run, "32x32 32x32")


PROGRAMS: Programs = {
    "hoist-projection": lambda rng: rng.choice((draw_gates, draw_network, draw_convolutions))(rng),
    "hoist-iterations": draw_walk,
    "sink-projection": draw_network,
    "sink-accumulation": lambda rng: draw_network(rng, gradient=True),
    "unroll-loop:4": lambda rng: draw_iterations(rng, 8, 11),
    "unroll-loop:8": lambda rng: draw_iterations(rng, 16, 19),
    "unroll-loop:whole": lambda rng: draw_iterations(rng, 1, 6),
    "hoist-rearrangement": rearranged,
}


REFUSED: Refused = {
    "hoist-projection": {
        "of the state": _iterated(lambda s, x, w: (jnp.tanh(s @ w) + x, s.sum()), "3x3"),
        "of weights that change": _iterated(lambda s, x: (s + x @ s.T @ s, None)),
        **UNKNOWN,
    },
    "hoist-iterations": {
        "cheap": _iterated(lambda s, x: (s * (x + 1), s.sum())),
        "of the state": _iterated(lambda s, x: (jnp.tanh(s) + x, s.sum())),
    },
    "sink-projection": {
        "the state is projected": _iterated(lambda s, x, w: ((s + x) @ w, x), "3x3"),
        "also needed by the state": _iterated(lambda s, x, w: ((y := jnp.tanh(s) @ w), y), "3x3"),
    },
    "sink-accumulation": {
        "the sum is read": _iterated(lambda s, x: (s + x @ jnp.ones((3, 3)), s.sum())),
        "of the sum itself": _iterated(lambda s, x: (s + jnp.tanh(s) @ x.T @ x, None)),
    },
    "unroll-loop:4": {**NEVER_UNROLLED, "too few iterations": _halved(3)},
    "unroll-loop:8": {**NEVER_UNROLLED, "too few iterations": _halved(3)},
    "unroll-loop:whole": {**NEVER_UNROLLED, "too many iterations": _halved(17)},
    "hoist-rearrangement": {
        "of the state": _loop(lambda s, w: s.T @ w),
        "of what is computed": _loop(lambda s, w: s @ jnp.exp(w).T),
    },
}
