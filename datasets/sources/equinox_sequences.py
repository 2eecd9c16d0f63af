"""Sequence models of equinox's modules: a state-space net and a neural Turing machine."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from recipe import Recipe, array
from sources.equinox_models import Row, classified, model_recipes, task_of
from tasks import Task


class StateSpace(eqx.Module):
    """Layers of diagonal linear recurrences with gates, by an associative or a plain scan."""

    embed: eqx.nn.Embedding
    inputs: list[eqx.nn.Linear]
    gates: list[eqx.nn.Linear]
    outputs: list[eqx.nn.Linear]
    norms: list[eqx.nn.RMSNorm]
    decays: list[jax.Array]
    head: eqx.nn.Linear
    parallel: bool = eqx.field(static=True)

    def __init__(self, layers: int, width: int, parallel: bool, rng: jax.Array) -> None:
        rngs = iter(jax.random.split(rng, 3 * layers + 2))
        self.embed = eqx.nn.Embedding(32, width, key=next(rngs))
        self.inputs = [eqx.nn.Linear(width, 2 * width, key=next(rngs)) for _ in range(layers)]
        self.gates = [eqx.nn.Linear(width, 2 * width, key=next(rngs)) for _ in range(layers)]
        self.outputs = [eqx.nn.Linear(2 * width, width, key=next(rngs)) for _ in range(layers)]
        self.norms = [eqx.nn.RMSNorm(width) for _ in range(layers)]
        self.decays = [jnp.zeros(2 * width) for _ in range(layers)]
        self.head = eqx.nn.Linear(width, 32, key=next(rngs))
        self.parallel = parallel

    def recur(self, decay: jax.Array, inputs: jax.Array) -> jax.Array:
        """Returns the states of a linear recurrence."""
        if not self.parallel:

            def step(state: jax.Array, pair: Any) -> tuple[jax.Array, jax.Array]:
                state = pair[0] * state + pair[1]
                return state, state

            return jax.lax.scan(step, jnp.zeros_like(inputs[0]), (decay, inputs))[1]

        def join(left: Any, right: Any) -> Any:
            return left[0] * right[0], right[0] * left[1] + right[1]

        return jax.lax.associative_scan(join, (decay, inputs))[1]

    def __call__(self, text: jax.Array) -> jax.Array:
        tokens = jax.vmap(self.embed)(text)
        layers = zip(self.inputs, self.gates, self.outputs, self.norms, self.decays, strict=True)
        for inputs, gates, outputs, norm, decay in layers:
            normed = jax.vmap(norm)(tokens)
            gate = jax.nn.sigmoid(jax.vmap(gates)(normed))
            states = self.recur(jnp.exp(-jax.nn.softplus(decay) * gate), jax.vmap(inputs)(normed))
            tokens = tokens + jax.vmap(outputs)(states * jax.nn.silu(gate))
        return jax.vmap(self.head)(tokens)


class Memory(eqx.Module):
    """Neural Turing machine: a GRU that reads and writes rows of a memory by attention."""

    core: eqx.nn.GRUCell
    heads: eqx.nn.Linear
    output: eqx.nn.Linear
    rows: int = eqx.field(static=True)

    def __init__(self, width: int, rows: int, rng: jax.Array) -> None:
        one, two, three = jax.random.split(rng, 3)
        self.core = eqx.nn.GRUCell(6 + 8, width, key=one)
        self.heads = eqx.nn.Linear(width, 4 * 8 + 2, key=two)
        self.output = eqx.nn.Linear(width + 8, 6, key=three)
        self.rows = rows

    def __call__(self, sequence: jax.Array) -> jax.Array:
        def weights(key: jax.Array, sharp: jax.Array, memory: jax.Array) -> jax.Array:
            lengths = jnp.linalg.norm(memory, axis=1) * jnp.linalg.norm(key) + 1e-6
            return jax.nn.softmax(jax.nn.softplus(sharp) * (memory @ key) / lengths)

        def step(carry: Any, symbol: jax.Array) -> Any:
            state, memory, read = carry
            state = self.core(jnp.concatenate([symbol, read]), state)
            control = self.heads(state)
            look, place, erase, add = control[:-2].reshape(4, 8)
            where = weights(place, control[-2], memory)[:, None]
            memory = memory * (1 - where * jax.nn.sigmoid(erase)) + where * jnp.tanh(add)
            read = weights(look, control[-1], memory) @ memory
            return (state, memory, read), self.output(jnp.concatenate([state, read]))

        start = (jnp.zeros(self.core.hidden_size), jnp.full((self.rows, 8), 1e-3), jnp.zeros(8))
        return jax.lax.scan(step, start, sequence)[1]


def space_task(
    layers: int, width: int, parallel: bool, *, length: int = 16, batch: int = 2
) -> Task:
    """Returns language modelling with a state-space net."""
    text = array(batch, length, dtype=jnp.int32)
    return classified(lambda rng: StateSpace(layers, width, parallel, rng), text, text)


def memory_task(width: int, rows: int) -> Task:
    """Returns copying of sequences by a neural Turing machine."""

    def forward(model: Any, sequence: jax.Array, target: jax.Array) -> jax.Array:
        return jax.vmap(model)(sequence)

    def score(model: Any, *batch: Any) -> jax.Array:
        logits = forward(model, *batch)
        return jnp.mean(jax.nn.softplus(logits) - batch[-1] * logits)

    batch = (array(4, 12, 6), array(4, 12, 6))
    return task_of(lambda rng: Memory(width, rows, rng), batch, forward, score)


def recipes() -> Iterator[Recipe]:
    """Yields the state-space nets and the Turing machines."""
    rows: list[Row] = [
        ("state-space", "l1-w16", partial(space_task, 1, 16, True), "forward grad"),
        ("state-space", "l2-w16", partial(space_task, 2, 16, True), "train-adamw remat-grad"),
        ("state-space", "l2-w16-scan", partial(space_task, 2, 16, False), "forward train-adam"),
        ("state-space", "l4-w24-scan", partial(space_task, 4, 24, False), "train-adamw-clip"),
        ("state-space", "l3-long", partial(space_task, 3, 16, True, length=100), "forward grad"),
        ("turing-machine", "r8", partial(memory_task, 24, 8), "forward train-rmsprop"),
        ("turing-machine", "r16", partial(memory_task, 32, 16), "grad accumulate-adam"),
    ]
    yield from model_recipes(rows)
