"""Language models of flax.nnx: recurrent cells, and transformers with low-rank adapters."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from recipe import Recipe, array, key
from sources.flax_sequences import CHARACTERS, Row, model_recipes
from tasks import Task, cross_entropy


class Attentive(nnx.Module):
    """Causal language model of nnx modules, whose projections may carry low-rank adapters."""

    def __init__(self, layers: int, hidden: int, rank: int, dropout: float, rngs: nnx.Rngs) -> None:
        def linear(inputs: int, outputs: int) -> nnx.Module:
            if rank:
                return nnx.LoRALinear(inputs, outputs, lora_rank=rank, rngs=rngs)
            return nnx.Linear(inputs, outputs, rngs=rngs)

        options = {"num_heads": 4, "in_features": hidden, "decode": False, "rngs": rngs}
        self.embed = nnx.Embed(CHARACTERS, hidden, rngs=rngs)
        self.norms = nnx.List([nnx.RMSNorm(hidden, rngs=rngs) for _ in range(2 * layers)])
        self.attention = nnx.List([nnx.MultiHeadAttention(**options) for _ in range(layers)])
        self.inner = nnx.List([linear(hidden, 2 * hidden) for _ in range(layers)])
        self.outer = nnx.List([linear(2 * hidden, hidden) for _ in range(layers)])
        self.dropout = nnx.Dropout(dropout, deterministic=dropout == 0)
        self.head = linear(hidden, CHARACTERS)

    def __call__(self, text: jax.Array, rng: jax.Array) -> jax.Array:
        tokens = self.embed(text)
        mask = nnx.make_causal_mask(text)
        rngs = jax.random.split(rng, len(self.attention))
        for layer, attention in enumerate(self.attention):
            tokens = tokens + attention(self.norms[2 * layer](tokens), mask=mask)
            hidden = nnx.silu(self.inner[layer](self.norms[2 * layer + 1](tokens)))
            tokens = tokens + self.dropout(self.outer[layer](hidden), rngs=rngs[layer])
        return self.head(tokens)


class Cells(nnx.Module):
    """Recurrent tagger of nnx modules."""

    def __init__(self, cell: str, hidden: int, both_ways: bool, rngs: nnx.Rngs) -> None:
        self.embed = nnx.Embed(CHARACTERS, hidden, rngs=rngs)
        make = partial(getattr(nnx, cell), hidden, hidden, rngs=rngs)
        if both_ways:
            forward, backward = nnx.RNN(make(), rngs=rngs), nnx.RNN(make(), rngs=rngs)
            self.body = nnx.Bidirectional(forward, backward, rngs=rngs)
        else:
            self.body = nnx.RNN(make(), rngs=rngs)
        self.head = nnx.Linear(hidden * (1 + both_ways), CHARACTERS, rngs=rngs)

    def __call__(self, text: jax.Array, rng: jax.Array) -> jax.Array:
        return self.head(self.body(self.embed(text)))


def nnx_task(
    build: Callable[[nnx.Rngs], nnx.Module], *, batch: int, length: int, trained: Any = nnx.Param
) -> Task:
    """Returns next-token prediction with an nnx model.

    Args:
        build: Makes the model.
        batch: Texts in a batch.
        length: Tokens in a text.
        trained: The kind of variable that is trained; the others are state, left as it is.
    """
    graph, params, rest = nnx.split(nnx.eval_shape(lambda: build(nnx.Rngs(0))), trained, ...)
    pure = nnx.to_pure_dict

    def forward(params: Any, state: Any, text: jax.Array, rng: jax.Array) -> jax.Array:
        return nnx.merge(graph, nnx.State(params), nnx.State(state))(text, rng)

    def loss(params: Any, state: Any, text: jax.Array, rng: jax.Array) -> Any:
        logits = forward(params, state, text, rng)
        return cross_entropy(logits[:, :-1], text[:, 1:]), state

    text = array(batch, length, dtype=jnp.int32)
    return Task(pure(params), pure(rest), (text, key()), forward, loss)


def cells_task(cell: str, hidden: int, both_ways: bool) -> Task:
    """Returns tagging by recurrent cells."""
    return nnx_task(partial(Cells, cell, hidden, both_ways), batch=4, length=16)


def attentive_task(
    layers: int, rank: int, dropout: float = 0.0, *, trained: Any = nnx.Param
) -> Task:
    """Returns next-token prediction by a transformer, with adapters where the rank is not 0."""
    build = partial(Attentive, layers, 32, rank, dropout)
    return nnx_task(build, batch=2, length=16, trained=trained)


def recipes() -> Iterator[Recipe]:
    """Yields the recurrent nets and the transformers."""
    cells, attentive = partial(partial, cells_task), partial(partial, attentive_task)
    adapted = partial(attentive, trained=nnx.LoRAParam)
    recurrent: list[Row] = [
        ("nnx-gru", cells("GRUCell", 32, False), "forward train-adam"),
        ("nnx-bi-lstm", cells("OptimizedLSTMCell", 32, True), "forward grad"),
        ("nnx-simple", cells("SimpleCell", 32, False), "loop-adam"),
    ]
    transformers: list[Row] = [
        ("nnx-l2", attentive(2, 0), "forward train-adamw"),
        ("nnx-l2-dropout", attentive(2, 0, 0.1), "train-adam"),
        ("nnx-l2-lora4", adapted(2, 4), "train-adam"),
        ("nnx-l3-lora8-dropout", adapted(3, 8, 0.1), "grad accumulate-adamw"),
    ]
    yield from model_recipes("rnn", "Recurrent net", recurrent)
    yield from model_recipes("transformer", "Transformer", transformers, prefix="")
