"""Cases of what loops carry."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.case import Case, floats


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
    layer = (floats(inner, width), floats(inner), floats(width, inner), floats(width))
    return (layer,) * count


CASES = (
    Case(
        ("hoist-rearrangement",),
        "24 tokens, batch 1, 6 layers of 384, 8192 words",
        decode,
        (layers(6, 384), floats(8192, 384), floats(1, 1, 384)),
        program="gpt2/l6-h384-a6/greedy-b1-s128",
    ),
    Case(
        ("hoist-rearrangement",),
        "24 tokens, batch 4, 6 layers of 384, 8192 words",
        decode,
        (layers(6, 384), floats(8192, 384), floats(4, 384)),
        program="gpt2/l6-h384-a6/sample-topk-b4-s32",
        pays=False,
    ),
    Case(
        ("hoist-rearrangement",),
        "gates, 128 steps, batch 8, 256 states",
        gated,
        (floats(256, 768), floats(128, 8, 768), floats(8, 256)),
        program="gru/haiku-h256-b8-s128/forward",
    ),
)
