"""Rules about loops."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.case import Case, Cases, Programs, Refused, array, f32, lowered, program


def recurrent(
    weights: Any, series: jax.Array, start: jax.Array, *, flip: bool = False, reverse: bool = False
) -> Any:
    """Runs a recurrent network, and projects its states."""
    first, second, last = weights

    def step(state: jax.Array, row: jax.Array) -> Any:
        given = (first.T @ row.T).T if flip else row @ first
        state = jnp.tanh(given + state @ second)
        return state, state @ last

    return jax.lax.scan(step, start, series, reverse=reverse)[1]


def recurrent_loss(weights: Any, series: jax.Array, start: jax.Array) -> Any:
    """Returns gradients of the weights."""
    return jax.grad(lambda given: (recurrent(given, series, start) ** 2).mean())(weights)


def random_walk(rng: jax.Array, places: jax.Array) -> Any:
    """Moves places by random numbers."""

    def step(places: jax.Array, key: jax.Array) -> Any:
        return 0.99 * places + jax.random.uniform(key, places.shape), places.sum()

    return jax.lax.scan(step, places, jax.random.split(rng, 200))


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

    return jax.lax.scan(step, start, series)[1]


def small_system(matrix: jax.Array, state: jax.Array) -> Any:
    """Solves a small differential equation."""

    def step(state: jax.Array, _: None) -> Any:
        middle = state + 0.005 * jnp.tanh(matrix @ state)
        state = state + 0.01 * jnp.tanh(matrix @ middle)
        return state, state

    return jax.lax.scan(step, state, length=2000)


def network(
    batch: int, steps: int, inputs: int, width: int, outputs: int, dtype: Any = jnp.float32
) -> tuple[Any, ...]:
    """Returns the shapes of a recurrent network's arguments."""
    shapes = ((inputs, width), (width, width), (width, outputs))
    weights = tuple(array(*shape, dtype=dtype) for shape in shapes)
    return weights, array(steps, batch, inputs, dtype=dtype), array(batch, width, dtype=dtype)


KEY = jax.random.PRNGKey(0)

CASES: Cases = {
    "hoist-projection": [
        Case(
            "128 steps, batch 4, 1024 inputs, 64 states", recurrent, network(4, 128, 1024, 64, 64)
        ),
        Case(
            "128 steps, batch 4, 256 inputs, 256 states",
            recurrent,
            network(4, 128, 256, 256, 256),
            pays=False,
        ),
    ],
    "sink-projection": [
        Case(
            "128 steps, batch 4, 256 states, 1024 outputs",
            recurrent,
            network(4, 128, 64, 256, 1024),
        )
    ],
    "sink-accumulation": [
        Case(
            "gradient, 128 steps, batch 4, 256 inputs, 256 states",
            recurrent_loss,
            network(4, 128, 256, 256, 256),
            "lstm/flax-l2-h256-b4-s128/train-adam",
        )
    ],
    "sink-accumulation + sink-projection + hoist-projection": [
        Case(
            "gradient, 128 steps, batch 4, 256 inputs, 256 states",
            recurrent_loss,
            network(4, 128, 256, 256, 256),
            "lstm/flax-l2-h256-b4-s128/train-adam",
        )
    ],
    "hoist-iterations": [
        Case(
            "200 steps of 64 random numbers",
            random_walk,
            (KEY, f32(64)),
            "mcmc/random-walk/n2048-t500",
        )
    ],
    "unroll-loop:whole": [
        Case("256x1024 random numbers", variates, (KEY,), "sampling/gibbs/n2048-t50")
    ],
    "unroll-loop:8": [
        Case(
            "gates, 128 steps, batch 8, 256 inputs, 256 states",
            gated,
            (f32(512, 768), f32(128, 8, 256), f32(8, 256)),
            "gru/haiku-h256-b8-s128/forward",
        )
    ],
    "unroll-loop:4": [
        Case(
            "gates, 128 steps, batch 8, 256 inputs, 256 states",
            gated,
            (f32(512, 768), f32(128, 8, 256), f32(8, 256)),
            "gru/haiku-h256-b8-s128/forward",
        ),
        Case("2000 steps on 16 numbers", small_system, (f32(16, 16), f32(16)), pays=False),
    ],
}


TYPES = (jnp.float32, jnp.float64)


def draw_network(rng: Random, *, gradient: bool = False) -> str:
    """Draws a recurrent network with projections of its inputs and outputs, or its gradient."""
    steps, batch, inputs, width = (rng.randint(2, 5) for _ in range(4))
    dtype = rng.choice(TYPES)
    run = partial(recurrent, flip=rng.random() < 0.5, reverse=rng.random() < 0.5)

    def loss(weights: Any, rows: Any, start: Any) -> Any:
        return (run(weights, rows, start) ** 2).sum()

    function = jax.grad(loss, (0, 1)) if gradient else run
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

        return jax.lax.scan(step, start, rows, reverse=reverse)

    shapes = ((inputs, gates * width), (width, gates * width))
    weights = tuple(array(*shape, dtype=dtype) for shape in shapes)
    rows = array(steps, batch, inputs, dtype=dtype)
    return lowered(gated, weights, rows, array(batch, width, dtype=dtype))


def draw_convolutions(rng: Random) -> str:
    """Draws a loop over images, each of which is convolved."""
    layout = rng.choice([("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")])
    numbers = jax.lax.conv_dimension_numbers((2, 4, 4, 4), (3, 3, 4, 4), layout)

    def convolved(kernel: Any, images: Any, start: Any) -> Any:
        def step(state: Any, image: Any) -> Any:
            given = jax.lax.conv_general_dilated(
                image, kernel, (1, 1), "SAME", dimension_numbers=numbers
            )
            return jnp.tanh(given + state), state.sum()

        return jax.lax.scan(step, start, images)

    kernel = (3, 3, 4, 4) if layout[1] == "HWIO" else (4, 4, 3, 3)
    return lowered(convolved, f32(*kernel), f32(3, 2, 4, 4, 4), f32(2, 4, 4, 4))


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

        place = jax.lax.scan(step, place, jax.random.split(rng, steps))
        return place[1], jax.lax.fori_loop(start, steps, more, place[0])

    return lowered(walk, jax.random.PRNGKey(0), f32(steps, size), f32(size))


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

        (first, second), sums = jax.lax.scan(step, (state, state + 1), rows)
        return first, jax.lax.fori_loop(start, start + steps, more, second), sums

    return lowered(run, f32(steps, size), f32(size))


def _iterated(function: Callable[..., Any], *more: Any) -> Callable[[], str]:
    """Returns a loop of 5 iterations over rows, each of which is multiplied with more."""

    def run(rows: Any, state: Any, *rest: Any) -> Any:
        return jax.lax.scan(lambda s, row: function(s, row, *rest), state, rows)

    return program(run, f32(5, 2, 3), f32(2, 3), *more)


SQUARE = f32(3, 3)


def _while_below(rows: Any, weights: Any) -> Any:
    def step(pair: Any) -> Any:
        i, state = pair
        return i + 1, state + rows[i] @ weights

    start = (0, jnp.zeros((2, 3)))
    return jax.lax.while_loop(lambda pair: pair[1].sum() < 100, step, start)


def _halved(steps: int) -> Callable[[], str]:
    def run(state: Any) -> Any:
        return jax.lax.fori_loop(0, steps, lambda i, state: state * 0.5 + i, state)

    return program(run, f32(3))


def _stencil(field: Any) -> Any:
    def step(_: Any, field: Any) -> Any:
        return field + 0.1 * (jnp.roll(field, 1) + jnp.roll(field, -1))

    return jax.lax.fori_loop(0, 16, step, field)


UNKNOWN = {"unknown number of iterations": program(_while_below, f32(5, 2, 3), SQUARE)}
NEVER_UNROLLED = UNKNOWN | {"stencil": program(_stencil, f32(64))}

PROGRAMS: Programs = {
    "hoist-projection": lambda rng: rng.choice((draw_gates, draw_network, draw_convolutions))(rng),
    "hoist-iterations": draw_walk,
    "sink-projection": draw_network,
    "sink-accumulation": lambda rng: draw_network(rng, gradient=True),
    "unroll-loop:4": lambda rng: draw_iterations(rng, 8, 11),
    "unroll-loop:8": lambda rng: draw_iterations(rng, 16, 19),
    "unroll-loop:whole": lambda rng: draw_iterations(rng, 1, 6),
}

REFUSED: Refused = {
    "hoist-projection": {
        "of the state": _iterated(lambda s, x, w: (jnp.tanh(s @ w) + x, s.sum()), SQUARE),
        "of weights that change": _iterated(lambda s, x: (s + x @ s.T @ s, None)),
        **UNKNOWN,
    },
    "hoist-iterations": {
        "cheap": _iterated(lambda s, x: (s * (x + 1), s.sum())),
        "of the state": _iterated(lambda s, x: (jnp.tanh(s) + x, s.sum())),
    },
    "sink-projection": {
        "the state is projected": _iterated(lambda s, x, w: ((s + x) @ w, x), SQUARE),
        "also needed by the state": _iterated(lambda s, x, w: ((y := jnp.tanh(s) @ w), y), SQUARE),
    },
    "sink-accumulation": {
        "the sum is read": _iterated(lambda s, x: (s + x @ jnp.ones((3, 3)), s.sum())),
        "of the sum itself": _iterated(lambda s, x: (s + jnp.tanh(s) @ x.T @ x, None)),
    },
    "unroll-loop:4": {**NEVER_UNROLLED, "too few iterations": _halved(3)},
    "unroll-loop:8": {**NEVER_UNROLLED, "too few iterations": _halved(3)},
    "unroll-loop:whole": {**NEVER_UNROLLED, "too many iterations": _halved(17)},
}
