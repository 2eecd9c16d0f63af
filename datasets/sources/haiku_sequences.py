"""Recurrent nets of dm-haiku: cores of all kinds, scanned or unrolled, and speech with CTC."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import optax
from recipe import Recipe, array, key
from sources.haiku_images import LIBRARY, Row, model_recipes
from tasks import Task, cross_entropy, task_recipes

CHARACTERS = 32


def text_task(
    network: Callable[[jax.Array], jax.Array], *, batch: int, length: int, time_major: bool = True
) -> Task:
    """Returns next-character prediction with any network from text to logits."""
    model = hk.without_apply_rng(hk.transform(network))
    text = array(batch, length, dtype=jnp.int32)

    def loss(params: Any, state: Any, text: jax.Array) -> Any:
        logits = model.apply(params, text)
        logits = logits.swapaxes(0, 1) if time_major else logits
        return cross_entropy(logits[:, :-1], text[:, 1:]), state

    return Task(
        params=jax.eval_shape(model.init, key(), text),
        state={},
        batch=(text,),
        forward=lambda params, state, text: model.apply(params, text),
        loss=loss,
    )


def core_task(
    core: Callable[[], hk.RNNCore],
    *,
    batch: int,
    length: int,
    embedded: int = 32,
    unrolled: bool = False,
) -> Task:
    """Returns next-character prediction with any recurrent core.

    Args:
        core: Makes the core.
        batch: Texts in a batch.
        length: Characters in a text.
        embedded: Width of a character.
        unrolled: Repeat the core for each character in place of a scan.
    """

    def network(text: jax.Array) -> jax.Array:
        stack = core()
        characters = hk.Embed(CHARACTERS, embedded)(text.T)
        unroll = hk.static_unroll if unrolled else hk.dynamic_unroll
        outputs, _ = unroll(stack, characters, stack.initial_state(batch))
        return hk.BatchApply(hk.Linear(CHARACTERS))(outputs)

    return text_task(network, batch=batch, length=length)


def skipping(hidden: int) -> hk.RNNCore:
    """Returns two LSTMs, the input and each output passed on past the next."""
    return hk.deep_rnn_with_skip_connections([hk.LSTM(hidden), hk.LSTM(hidden)])


def ctc_task(hidden: int, *, batch: int, frames: int, labels: int) -> Task:
    """Returns speech recognition: a GRU over frames under optax's CTC loss (a scan as well)."""

    def network(sound: jax.Array) -> jax.Array:
        core = hk.GRU(hidden)
        outputs, _ = hk.dynamic_unroll(core, sound, core.initial_state(batch), time_major=False)
        return hk.BatchApply(hk.Linear(CHARACTERS))(outputs)

    model = hk.without_apply_rng(hk.transform(network))
    sound = array(batch, frames, 12)

    def loss(params: Any, state: Any, sound: Any, paddings: Any, text: Any, ends: Any) -> Any:
        return optax.ctc_loss(model.apply(params, sound), paddings, text, ends).mean(), state

    return Task(
        params=jax.eval_shape(model.init, key(), sound),
        state={},
        batch=(
            sound,
            array(batch, frames),
            array(batch, labels, dtype=jnp.int32),
            array(batch, labels),
        ),
        forward=lambda params, state, sound, *_: model.apply(params, sound),
        loss=loss,
    )


def recipes() -> Iterator[Recipe]:
    """Yields the recurrent nets."""
    task = partial(partial, core_task, batch=4, length=12)
    mixed = task(lambda: hk.DeepRNN([hk.GRU(32), jax.nn.relu, hk.LSTM(24)]))
    rows: list[Row] = [
        ("rnn", "haiku-skip-lstm", task(partial(skipping, 32)), "grad"),
        (
            "rnn",
            "haiku-lstm-static",
            task(lambda: hk.LSTM(32), unrolled=True),
            "forward train-sgdm",
        ),
        ("rnn", "haiku-gru-static", task(lambda: hk.GRU(24), unrolled=True), "grad"),
        ("rnn", "haiku-identity-mix", mixed, "forward train-adamw"),
    ]
    yield from model_recipes(rows)
    yield from task_recipes(
        "rnn",
        LIBRARY,
        "gru-ctc-h32",
        "hk.GRU h32 and optax.ctc_loss, batch 2, 24 frames, 8 labels",
        partial(ctc_task, 32, batch=2, frames=24, labels=8),
        {"grad-b2-s24": "grad"},
    )
