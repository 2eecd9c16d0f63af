"""Recurrent nets of flax.linen, each cell under one scan: text, translation, films.

The task of predicting labels and the recipes' form are here too, for flax's other files.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from recipe import Recipe, array, key
from tasks import Task, cross_entropy, task_recipes

LIBRARY = "flax"
CHARACTERS = 64

Row = tuple[str, Callable[[], Task], str]
"""Model, its task, and kinds of programs."""


class Recurrent(nn.Module):
    """Recurrent layers over text; each is one scan, recomputed in the backward pass if asked to."""

    cell: str
    hidden: int
    layers: int
    remat: bool = False
    options: tuple[tuple[str, Any], ...] = ()

    @nn.compact
    def __call__(self, text: jax.Array) -> jax.Array:
        words = nn.Embed(CHARACTERS, self.hidden)(text)
        cell = getattr(nn, self.cell)
        cell = nn.remat(cell) if self.remat else cell
        for _ in range(self.layers):
            words = nn.RNN(cell(self.hidden), **dict(self.options))(words)
        return nn.Dense(CHARACTERS)(words)


class Frames(nn.Module):
    """Convolutional LSTM over the frames of a film."""

    width: int

    @nn.compact
    def __call__(self, frames: jax.Array) -> jax.Array:
        hidden = nn.RNN(nn.ConvLSTMCell(self.width, (3, 3)))(frames)
        return nn.Dense(10)(hidden[:, -1].mean(axis=(1, 2)))


class Translator(nn.Module):
    """Encoder and decoder of recurrent cells; the decoder starts where the encoder ends."""

    hidden: int
    cell: str

    @nn.compact
    def __call__(self, source: jax.Array, target: jax.Array) -> jax.Array:
        embed = nn.Embed(CHARACTERS, self.hidden)
        cell = getattr(nn, self.cell)
        encoder = nn.RNN(cell(self.hidden), return_carry=True, reverse=True)
        carry, _ = encoder(embed(source))
        decoded = nn.RNN(cell(self.hidden))(embed(target), initial_carry=carry)
        return nn.Dense(CHARACTERS)(decoded)


def supervised(
    model: nn.Module, *inputs: Any, labels: tuple[int, ...], stateful: bool = False
) -> Task:
    """Returns the task of predicting labels; a stateful model is told whether it trains."""
    variables = jax.eval_shape(model.init, key(), *inputs)
    params = variables["params"]
    state = {name: tree for name, tree in variables.items() if name != "params"}

    def forward(params: Any, state: Any, *batch: Any) -> Any:
        return model.apply({"params": params, **state}, *batch[:-1])

    def loss(params: Any, state: Any, *batch: Any) -> Any:
        options = {"train": True, "mutable": list(state)} if stateful else {}
        result: Any = model.apply({"params": params, **state}, *batch[:-1], **options)
        logits, state = result if stateful else (result, state)
        return cross_entropy(logits, batch[-1]), state

    batch = (*inputs, array(*labels, dtype=jnp.int32))
    return Task(params, state, batch, forward, loss)


def text_task(model: nn.Module, batch: int, length: int, *, sources: int = 0) -> Task:
    """Returns next-token prediction, from a source text of its own length if there is one."""
    texts = [array(batch, size, dtype=jnp.int32) for size in (sources, length) if size]
    return supervised(model, *texts, labels=(batch, length))


def recurrent_task(
    cell: str, hidden: int, layers: int, remat: bool = False, **options: Any
) -> Task:
    """Returns next-token prediction by recurrent layers; the options are those of `nn.RNN`."""
    return text_task(Recurrent(cell, hidden, layers, remat, tuple(options.items())), 4, 16)


def translator_task(cell: str) -> Task:
    """Returns translation by recurrent cells."""
    return text_task(Translator(32, cell), 4, 12, sources=16)


def film_task() -> Task:
    """Returns classification of films."""
    return supervised(Frames(8), array(2, 6, 16, 16, 3), labels=(2,))


def model_recipes(
    family: str, words: str, rows: Iterable[Row], *, prefix: str = "flax-"
) -> Iterator[Recipe]:
    """Yields the recipes of models whose variants have the names of their kinds.

    Args:
        family: Model family.
        words: What the models are.
        rows: The models.
        prefix: Put before the models' names, which other libraries have too.
    """
    for model, task, kinds in rows:
        description = f"{words} of flax, {model}"
        variants = {kind: kind for kind in kinds.split()}
        yield from task_recipes(family, LIBRARY, prefix + model, description, task, variants)


def recipes() -> Iterator[Recipe]:
    """Yields the recurrent nets."""
    task = partial(partial, recurrent_task)
    rows: list[Row] = [
        ("lstm-l1", task("LSTMCell", 32, 1), "forward train-adam"),
        ("lstm-l2-remat", task("OptimizedLSTMCell", 32, 2, True), "grad"),
        ("lstm-unrolled4", task("OptimizedLSTMCell", 32, 1, unroll=4), "forward grad"),
        ("gru-l1", task("GRUCell", 32, 1), "forward grad hvp"),
        ("gru-l3", task("GRUCell", 24, 3), "train-adamw-clip"),
        ("mgu-l2", task("MGUCell", 32, 2), "forward train-rmsprop"),
        ("simple-l1-reversed", task("SimpleCell", 32, 1, reverse=True), "loop-sgdm"),
        ("simple-l2", task("SimpleCell", 32, 2), "per-example-grad accumulate-lion"),
        ("translator-lstm", partial(translator_task, "LSTMCell"), "forward train-adam"),
        ("translator-gru", partial(translator_task, "GRUCell"), "grad"),
        ("conv-lstm", film_task, "forward train-adam"),
    ]
    yield from model_recipes("rnn", "Recurrent net", rows)
