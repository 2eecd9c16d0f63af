"""Rules about what loops carry."""

from __future__ import annotations

from random import Random
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.case import Case, Cases, Programs, Refused, f32, lowered, program


def decode(layers: Any, embedding: jax.Array, state: jax.Array) -> jax.Array:
    """Runs layers and the output of a language model, with weights by output, for 24 tokens."""

    def step(_: int, state: jax.Array) -> jax.Array:
        for first, first_bias, second, second_bias in layers:
            inner = jax.nn.gelu(state @ first.T + first_bias)
            state = state + (inner @ second.T + second_bias)
        token = jnp.argmax(state @ embedding.T, -1)
        return state + embedding[token]

    return jax.lax.fori_loop(0, 24, step, state)


def gated(weights: jax.Array, series: jax.Array, start: jax.Array) -> Any:
    """Runs a network with gated recurrent units, whose weights are in one array."""

    def step(state: jax.Array, row: jax.Array) -> Any:
        gates = jax.nn.sigmoid(row[:, :512] + state @ weights[:, :512])
        reset, update = jnp.split(gates, 2, axis=-1)
        new = jnp.tanh(row[:, 512:] + (reset * state) @ weights[:, 512:])
        state = update * state + (1 - update) * new
        return state, state

    return jax.lax.scan(step, start, series)[1]


def layers(count: int, width: int) -> Any:
    """Returns the shapes of the weights of perceptrons, by output, and their biases."""
    inner = 4 * width
    layer = (f32(inner, width), f32(inner), f32(width, inner), f32(width))
    return (layer,) * count


CASES: Cases = {
    "hoist-rearrangement": [
        Case(
            "24 tokens, batch 1, 6 layers of 384, 8192 words",
            decode,
            (layers(6, 384), f32(8192, 384), f32(1, 1, 384)),
            "gpt2/l6-h384-a6/greedy-b1-s128",
        ),
        Case(
            "24 tokens, batch 4, 6 layers of 384, 8192 words",
            decode,
            (layers(6, 384), f32(8192, 384), f32(4, 384)),
            "gpt2/l6-h384-a6/sample-topk-b4-s32",
            pays=False,
        ),
        Case(
            "gates, 128 steps, batch 8, 256 states",
            gated,
            (f32(256, 768), f32(128, 8, 768), f32(8, 256)),
            "gru/haiku-h256-b8-s128/forward",
        ),
    ]
}


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

        return jax.lax.fori_loop(0, steps, step, (state, first))

    def more(first: Any, second: Any, state: Any) -> Any:
        def going(pair: Any) -> Any:
            return pair[0].sum() < 100

        def step(pair: Any) -> Any:
            return jnp.abs(pair[0] @ first.T) + 1, pair[1] + second.T.sum()

        return jax.lax.while_loop(going, step, (state, second))

    function = rng.choice([run, more])
    return lowered(function, f32(8, 8), f32(8, 8), f32(batch, 8))


def _loop(step: Any, *more: jax.ShapeDtypeStruct, steps: int = 5) -> Any:
    def run(state: Any, *rest: Any) -> Any:
        return jax.lax.fori_loop(0, steps, lambda i, s: step(i, s, *rest), state)

    return program(run, f32(32, 32), *more)


SQUARE = f32(32, 32)


PROGRAMS: Programs = {"hoist-rearrangement": rearranged}

REFUSED: Refused = {
    "hoist-rearrangement": {
        "of the state": _loop(lambda _, s, w: s.T @ w, SQUARE),
        "of what is computed": _loop(lambda _, s, w: s @ jnp.exp(w).T, SQUARE),
    }
}
