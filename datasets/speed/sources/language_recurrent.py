"""Recurrent nets of flax and dm-haiku over long sequences, and recurrence without a loop."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import haiku as hk
import keras
import keras_hub
from recipe import Recipe
from sources.equinox_sequences import space_task
from sources.flax_linen import tagger_task
from sources.flax_sequences import Recurrent, Translator, text_task
from sources.haiku_images import film_task
from sources.haiku_sequences import core_task, ctc_task, skipping
from sources.keras_hub_models import hub_recipes
from tasks import Task, task_recipes

LIBRARY = "flax"

Row = tuple[str, str, str, Callable[[], Task], str]
"""Family, library, model, its task, and variants with their kinds before the sizes."""


def recurrent_task(
    cell: str, hidden: int, layers: int, batch: int, length: int, remat: bool = False
) -> Task:
    """Returns next-token prediction by recurrent layers of flax."""
    return text_task(Recurrent(cell, hidden, layers, remat), batch, length)


def translator_task(cell: str, hidden: int, batch: int, length: int) -> Task:
    """Returns translation by recurrent cells of flax, between texts of equal length."""
    return text_task(Translator(hidden, cell), batch, length, sources=length)


def rwkv(layers: int, width: int) -> keras.Model:
    """Returns RWKV-7 with heads of 32 and ranks of 16."""
    ranks = dict.fromkeys(("gate_lora", "mv_lora", "aaa_lora", "decay_lora"), 16)
    sizes = {"head_size": 32, "num_layers": layers, "intermediate_dim": 4 * width}
    return keras_hub.models.RWKV7Backbone(width, vocabulary_size=4096, **sizes, **ranks)


def recipes() -> Iterator[Recipe]:
    """Yields the recurrent nets, the state-space nets and RWKV."""
    flax, haiku, equinox = "flax", "dm-haiku", "equinox"
    lstm, gru = partial(hk.LSTM, 256), partial(hk.GRU, 256)
    core = partial(partial, core_task, embedded=128)
    rows: list[Row] = [
        (
            "lstm",
            flax,
            "l2-h256-b4-s128",
            partial(recurrent_task, "OptimizedLSTMCell", 256, 2, 4, 128),
            "forward train-adam",
        ),
        (
            "lstm",
            flax,
            "separate-gates-l1-h256-b4-s128",
            partial(recurrent_task, "LSTMCell", 256, 1, 4, 128),
            "forward",
        ),
        ("lstm", flax, "tagger-h256-b4-s96", partial(tagger_task, 4, 96, 256), "forward grad"),
        (
            "lstm",
            haiku,
            "skip-l2-h256-b8-s64",
            core(partial(skipping, 256), batch=8, length=64),
            "train-adamw",
        ),
        (
            "lstm",
            haiku,
            "unrolled-h256-b4-s32",
            core(lstm, batch=4, length=32, unrolled=True),
            "forward train-sgdm",
        ),
        (
            "gru",
            flax,
            "remat-l2-h256-b4-s128",
            partial(recurrent_task, "GRUCell", 256, 2, 4, 128, True),
            "grad",
        ),
        ("gru", haiku, "h256-b8-s128", core(gru, batch=8, length=128), "forward"),
        (
            "gru",
            haiku,
            "ctc-h256-b4-s200",
            partial(ctc_task, 256, batch=4, frames=200, labels=30),
            "grad",
        ),
        (
            "translator",
            flax,
            "lstm-h256-b4-s48",
            partial(translator_task, "OptimizedLSTMCell", 256, 4, 48),
            "forward train-adam",
        ),
        (
            "conv-lstm",
            haiku,
            "w16-f8-b1-48px",
            partial(film_task, 16, batch=1, frames=8, size=48),
            "forward train-adam",
        ),
        (
            "state-space",
            equinox,
            "l4-w128-b2-s512",
            partial(space_task, 4, 128, True, length=512),
            "forward train-adamw",
        ),
        (
            "state-space",
            equinox,
            "loop-l4-w128-b4-s256",
            partial(space_task, 4, 128, False, length=256, batch=4),
            "forward grad",
        ),
    ]
    for family, library, model, task, kinds in rows:
        name, words = f"{library.removeprefix('dm-')}-{model}", f"{family} of {library}, {model}"
        yield from task_recipes(family, library, name, words, task, {k: k for k in kinds.split()})
    model, build = "l2-h256", partial(rwkv, 2, 256)
    words = f"RWKV-7 {model} of keras-hub"
    yield from hub_recipes("rwkv", model, words, build, "forward grad", batch=1, length=64)
