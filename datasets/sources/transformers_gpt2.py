"""GPT-2 of Hugging Face transformers (Flax class): forward, gradients, training, decoding."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import transformers
from recipe import Recipe
from tasks import Task, cross_entropy
from transformers_programs import (
    MARKS,
    VOCABULARY,
    configured,
    generation,
    next_token_loss,
    program,
    spelled,
    text_task,
)

CLASS = "FlaxGPT2LMHeadModel"

# Small position tables keep attention masks small; what counts here is the structure.
GPT2 = {"vocab_size": VOCABULARY, "n_positions": 64, "use_cache": False}


def gpt2(layers: int, hidden: int, heads: int = 4, **options: Any) -> transformers.GPT2Config:
    """Returns a small GPT-2 configuration."""
    sizes = {"n_layer": layers, "n_embd": hidden, "n_head": heads}
    return transformers.GPT2Config(**{**GPT2, **sizes, **options})


def gpt2_task(
    config: transformers.PretrainedConfig,
    *,
    batch: int,
    length: int,
    loss: Callable[[jax.Array, jax.Array], jax.Array] = next_token_loss,
    **options: Any,
) -> Task:
    """Returns the task of predicting next tokens with GPT-2; options are those of `text_task`."""
    labels = (batch, length)
    return text_task(CLASS, config, loss, labels, batch=batch, length=length, **options)


def smoothed_loss(logits: jax.Array, tokens: jax.Array) -> jax.Array:
    """Returns the next-token loss with a tenth of the probability spread over all tokens."""
    spread = -jax.nn.log_softmax(logits[:, :-1].astype(jnp.float32)).mean()
    return 0.9 * next_token_loss(logits, tokens) + 0.1 * spread


def normalised_loss(logits: jax.Array, tokens: jax.Array) -> jax.Array:
    """Returns the next-token loss with a penalty on the softmax's normaliser (z-loss)."""
    normaliser = jax.nn.logsumexp(logits.astype(jnp.float32), axis=-1)
    return next_token_loss(logits, tokens) + 1e-4 * jnp.square(normaliser).mean()


def answer_loss(logits: jax.Array, tokens: jax.Array) -> jax.Array:
    """Returns the loss over the second half of a sequence, as in tuning on instructions."""
    half = logits.shape[1] // 2
    return cross_entropy(logits[:, half:-1], tokens[:, half + 1 :])


def unlikelihood_loss(logits: jax.Array, tokens: jax.Array) -> jax.Array:
    """Returns the next-token loss with a penalty on repeating the token before."""
    probabilities = jax.nn.softmax(logits[:, :-1].astype(jnp.float32))
    repeated = jnp.take_along_axis(probabilities, tokens[:, :-1, None], axis=-1)
    return next_token_loss(logits, tokens) - jnp.log1p(1e-6 - repeated).mean()


WORDS: dict[str, dict[str, Any]] = {
    "untied": {"tie_word_embeddings": False},
    "relu": {"activation_function": "relu"},
    "gelu": {"activation_function": "gelu"},
    "silu": {"activation_function": "silu"},
    "tanh": {"activation_function": "tanh"},
    "quickgelu": {"activation_function": "quick_gelu"},
    "narrow": {"n_inner": 24},
    "nodrop": {"resid_pdrop": 0.0, "embd_pdrop": 0.0},
    "noattndrop": {"attn_pdrop": 0.0},
}
"""Meaning of the words of a model's name for its configuration."""

LOSSES: dict[str, dict[str, Any]] = {
    "smooth": {"loss": smoothed_loss},
    "zloss": {"loss": normalised_loss},
    "answer": {"loss": answer_loss},
    "unlikelihood": {"loss": unlikelihood_loss},
}
"""Meaning of the words for losses, at the end of a variant, for a task."""

PROGRAMS: dict[str, str] = {
    "l1-h16-a1": "train-sgd-b1-s8 train-adam-b4-s8 forward-b1-s8-bf16",
    "l1-h16-a2-relu": "train-rmsprop-b2-s8 train-sgdm-clip-b2-s12-mixed",
    "l1-h32": "train-adam-b2-s16 train-lion-b2-s16 train-lamb-b2-s16 train-adafactor-b2-s16"
    " loop-adamw-b2-s16 accumulate-sgdm-b2-s16 hvp-b2-s16 per-example-grad-b2-s16"
    " train-adamw-b2-s16-smooth",
    "l1-h32-untied": "train-nesterov-b2-s16 loop-lion-b2-s8-bf16 grad-b2-s16-zloss",
    "l1-h48-a6-silu": "train-lamb-cosine-b2-s16 accumulate-rmsprop-b2-s8",
    "l1-h64-a8-tanh": "train-adafactor-clip-b2-s32-bf16 remat-grad-b2-s32-dropout-rbg",
    "l2-h32": "train-sgd-b2-s16 train-nesterov-clip-b2-s16 train-adamw-clip-b2-s16-mixed"
    " train-adam-cosine-b2-s16-dropout-threefry2x32 train-lion-clip-cosine-b2-s16-bf16"
    " train-rmsprop-b4-s16-recompute loop-sgdm-b2-s16 accumulate-adamw-clip-b2-s16"
    " grad-b2-s16-unlikelihood",
    "l2-h32-untied": "train-lamb-clip-b2-s16 accumulate-lion-b1-s16-mixed hvp-b1-s16",
    "l2-h48-a3-quickgelu": "train-adamw-cosine-b3-s20 train-sgdm-b3-s20-dropout-rbg",
    "l2-h48-a6-gelu": "train-adafactor-b2-s16-mixed loop-adam-clip-b2-s16 train-adam-b2-s16-zloss",
    "l2-h64-a8": "train-rmsprop-clip-cosine-b2-s24-bf16 train-adamw-b1-s48-recompute"
    " per-example-grad-b4-s16-bf16",
    "l2-h32-nodrop": "train-adamw-b2-s16-dropout-rbg",
    "l2-h32-noattndrop": "train-lion-b2-s16-dropout-threefry2x32",
    "l3-h32": "train-adam-clip-cosine-b2-s16 train-sgdm-b2-s16-recompute-all-but-products"
    " loop-lamb-b2-s8 accumulate-adafactor-b2-s16 grad-b2-s16-mixed",
    "l3-h48-a4-relu-untied": "train-adamw-b2-s16-bf16 train-nesterov-cosine-b2-s16"
    " remat-grad-b2-s16",
    "l3-h48-a6-silu-narrow": "train-lion-b2-s16-answer train-lamb-b2-s16-mixed",
    "l3-h32-tanh": "train-rmsprop-cosine-b2-s16-dropout-rbg",
    "l4-h32": "train-sgd-clip-b2-s16-bf16 train-adam-b2-s16-recompute-batched-products"
    " train-adafactor-cosine-b2-s16 train-adamw-b2-s16-mixed-dropout-rbg loop-nesterov-b2-s16",
    "l4-h48-a2-quickgelu-untied": "train-lamb-clip-cosine-b2-s16 accumulate-adam-cosine-b2-s16",
    "l4-h64-a8-gelu": "train-rmsprop-clip-b2-s32 train-lion-cosine-b4-s16-mixed-recompute"
    " forward-b2-s64",
    "l4-h32-noattndrop": "train-adamw-clip-b2-s24-dropout-threefry2x32-recompute",
    "l5-h40": "train-adam-b2-s16 train-nesterov-b2-s16-bf16 train-adamw-clip-cosine-b2-s16-smooth",
    "l5-h32-a2-relu": "train-adafactor-b2-s16-dropout-rbg accumulate-sgd-clip-b2-s16",
    "l5-h32-narrow-untied": "train-lion-clip-b2-s16 loop-rmsprop-b2-s8-mixed",
    "l6-h32": "train-adamw-cosine-b2-s16 train-sgdm-cosine-b2-s16-mixed train-lamb-b2-s16-recompute"
    " hvp-b1-s16 grad-b2-s16-bf16-recompute",
    "l6-h48-a6-silu": "train-adam-clip-b2-s16-dropout-threefry2x32 loop-adafactor-b2-s16-bf16",
    "l6-h48-a3-untied": "train-rmsprop-b2-s16-zloss accumulate-lamb-b2-s16",
    "l8-h32": "train-adamw-b2-s16 train-nesterov-clip-cosine-b2-s16"
    " train-lion-b2-s16-bf16-dropout-rbg loop-sgd-cosine-b2-s16",
    "l8-h48-a6-gelu-untied": "train-adafactor-clip-cosine-b2-s16-recompute-all-but-products"
    " accumulate-adamw-b2-s16-mixed",
    "l8-h32-a2-tanh": "train-adam-b2-s16-unlikelihood per-example-grad-b2-s8",
    "l10-h32": "train-adam-cosine-b2-s16 train-lamb-b1-s24-bf16 train-sgd-b2-s16-recompute",
    "l10-h40-a5-quickgelu": "train-rmsprop-b2-s16-mixed accumulate-nesterov-b2-s16"
    " train-adamw-clip-b2-s16-answer",
    "l12-h48": "train-adamw-clip-cosine-b2-s32 train-lion-b2-s32-mixed forward-b2-s32-bf16",
    "l12-h48-a12": "train-adam-b2-s16-recompute train-adafactor-b2-s16-bf16"
    " train-adamw-b2-s16-dropout-rbg accumulate-adamw-clip-cosine-b1-s16 loop-adamw-b2-s16",
    "l12-h32-relu-untied": "train-lamb-b2-s16 train-sgdm-clip-b2-s16-dropout-threefry2x32",
    "l24-h32": "train-adamw-b1-s16 train-sgdm-b1-s16-bf16-recompute",
    "l48-h32": "train-adamw-clip-b1-s16-mixed",
    "l75-h16-a2": "train-adamw-b1-s8",
}
"""Model to variants; both spell out what they are."""


def recipes() -> Iterator[Recipe]:
    """Yields GPT-2: forward, gradients, training steps and decoding loops."""
    yield from first_recipes()
    for model, variants in PROGRAMS.items():
        task = partial(gpt2_task, configured(model, gpt2, WORDS))
        yield from spelled("gpt2", model, CLASS, task, variants, MARKS | LOSSES)


def first_recipes() -> Iterator[Recipe]:
    """Yields the recipes whose names say less than their tables."""
    programs = [
        ("l1-h32", "forward", gpt2(1, 32), 2, 16, {}),
        ("l1-h32", "grad", gpt2(1, 32), 2, 16, {}),
        ("l1-h32", "train-sgdm", gpt2(1, 32), 2, 16, {}),
        ("l1-h64", "train-adamw", gpt2(1, 64), 2, 32, {}),
        ("l1-h64-untied", "accumulate-adam", gpt2(1, 64, tie_word_embeddings=False), 2, 16, {}),
        ("l2-h64", "forward", gpt2(2, 64), 4, 32, {"dtype": jnp.bfloat16}),
        ("l2-h64", "grad", gpt2(2, 64), 4, 32, {"dtype": jnp.bfloat16}),
        ("l2-h64", "grad", gpt2(2, 64), 2, 32, {"dropout": "rbg"}),
        ("l2-h64", "train-adamw", gpt2(2, 64), 2, 32, {}),
        ("l2-h48-relu", "remat-grad", gpt2(2, 48, activation_function="relu"), 1, 24, {}),
        ("l4-h32", "train-adamw-clip-cosine", gpt2(4, 32), 2, 16, {}),
        ("l12-h48", "train-sgdm", gpt2(12, 48), 2, 32, {}),
    ]
    for model, kind, config, batch, length, options in programs:
        task = partial(gpt2_task, config, batch=batch, length=length, **options)
        yield program("gpt2", model, kind, batch, length, options, "FlaxGPT2LMHeadModel", task)
    decoding = {
        "greedy-b2-s8": {"do_sample": False},
        "beam3-b1-s8": {"num_beams": 3},
        "sample-topk-b2-s8": {"do_sample": True, "top_k": 8, "temperature": 0.7},
    }
    for variant, options in decoding.items():
        yield generation("gpt2", "l1-h32", variant, "FlaxGPT2LMHeadModel", gpt2(1, 32), options)
