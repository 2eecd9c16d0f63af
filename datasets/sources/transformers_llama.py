"""LLaMA and models built like it, of Hugging Face transformers (Flax): Mistral and Gemma."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax.numpy as jnp
import transformers
from recipe import Recipe
from tasks import Task
from transformers_programs import (
    VOCABULARY,
    configured,
    generation,
    next_token_loss,
    program,
    spelled,
    text_task,
)

LLAMA = {"vocab_size": VOCABULARY, "max_position_embeddings": 64, "use_cache": False}


def llama(
    layers: int, hidden: int, heads: int = 4, kind: str = "Llama", **options: Any
) -> transformers.PretrainedConfig:
    """Returns a small configuration of LLaMA or of a model built like it."""
    sizes = {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "intermediate_size": 3 * hidden,
    }
    sizes |= {"head_dim": hidden // heads} if kind == "Gemma" else {}
    return getattr(transformers, f"{kind}Config")(**{**LLAMA, **sizes, **options})


def causal_task(
    class_name: str,
    config: transformers.PretrainedConfig,
    *,
    batch: int,
    length: int,
    **options: Any,
) -> Task:
    """Returns the task of predicting next tokens; options are those of `text_task`."""
    labels = (batch, length)
    return text_task(
        class_name, config, next_token_loss, labels, batch=batch, length=length, **options
    )


WORDS: dict[str, dict[str, Any]] = {
    "gqa": {"num_key_value_heads": 2},
    "mqa": {"num_key_value_heads": 1},
    "relu": {"hidden_act": "relu"},
    "gelu": {"hidden_act": "gelu"},
    "bias": {"attention_bias": True},
    "window": {"sliding_window": 8},
    "head24": {"head_dim": 24},
    "untied": {"tie_word_embeddings": False},
}
"""Meaning of the words of a model's name for its configuration."""

PROGRAMS: dict[str, dict[str, str]] = {
    "Llama": {
        "l1-h32": "train-adam-b2-s16 loop-sgd-b2-s16 hvp-b2-s16",
        "l1-h32-mqa": "train-lion-b2-s16-bf16 per-example-grad-b2-s16",
        "l2-h32-gqa": "train-adamw-b2-s16 train-adafactor-clip-b2-s16 grad-b2-s16-mixed"
        " accumulate-adamw-b2-s16",
        "l2-h48-a6-relu": "train-lamb-b2-s16 remat-grad-b2-s16",
        "l2-h32-bias": "train-rmsprop-clip-b2-s16 forward-b2-s16",
        "l4-h32": "train-adamw-clip-cosine-b2-s16-mixed train-nesterov-b2-s16 grad-b2-s16-recompute"
        " forward-b2-s16-bf16",
        "l4-h32-gqa": "train-adam-cosine-b2-s16-bf16 loop-adamw-b2-s16",
        "l8-h32-a2": "train-adamw-b2-s16-recompute-all-but-products train-sgdm-clip-b2-s16-bf16",
        "l12-h32": "train-lion-clip-b1-s16 forward-b1-s16",
    },
    "Mistral": {
        "l1-h32": "forward-b2-s16 train-adamw-b2-s16",
        "l2-h32-gqa": "grad-b2-s16-bf16 train-lion-b2-s16 train-adam-clip-b2-s16-recompute",
        "l2-h32-gqa-window": "forward-b2-s24 train-sgdm-b2-s24 accumulate-lamb-b2-s24",
        "l4-h48-window": "train-adamw-cosine-b2-s16-bf16 remat-grad-b2-s16",
        "l8-h32-gqa-window": "train-adafactor-b2-s16-mixed forward-b2-s16-bf16",
    },
    "Gemma": {
        "l1-h32": "forward-b2-s16 train-adam-b2-s16 hvp-b2-s16",
        "l2-h32-mqa": "grad-b2-s16-mixed train-adafactor-clip-b2-s16 loop-sgdm-b2-s16",
        "l2-h48-head24": "train-rmsprop-b2-s16-bf16 per-example-grad-b2-s16",
        "l4-h32-mqa": "train-adamw-clip-b2-s16-recompute forward-b2-s16-bf16",
        "l6-h32-gqa": "train-lamb-cosine-b2-s16 train-lion-b2-s16-mixed",
    },
}
"""Kind of model to model to variants; both spell out what they are."""

DECODING: dict[str, dict[str, dict[str, Any]]] = {
    "Llama": {
        "beam2-b1-s8": {"num_beams": 2},
        "sample-topp-b2-s8": {"do_sample": True, "top_p": 0.9},
    },
    "Mistral": {
        "greedy-b2-s8": {},
        "sample-topk-b1-s8": {"do_sample": True, "top_k": 4},
    },
    "Gemma": {"greedy-b1-s8": {}, "beam3-b1-s8": {"num_beams": 3, "early_stopping": True}},
}
"""Kind of model to variant to what `generate` takes."""


def recipes() -> Iterator[Recipe]:
    """Yields LLaMA, Mistral and Gemma, which are one family."""
    yield from first_recipes()
    for kind, programs in PROGRAMS.items():
        class_name = f"Flax{kind}ForCausalLM"
        prefix = "" if kind == "Llama" else f"{kind.lower()}-"
        configuration = partial(llama, kind=kind)
        for model, variants in programs.items():
            task = partial(causal_task, class_name, configured(model, configuration, WORDS))
            yield from spelled("llama", f"{prefix}{model}", class_name, task, variants)
        for variant, options in DECODING[kind].items():
            model, config = f"{prefix}l2-h32-gqa", llama(2, 32, kind=kind, num_key_value_heads=2)
            yield generation("llama", model, variant, class_name, config, options)


def first_recipes() -> Iterator[Recipe]:
    """Yields the recipes whose names say less than their tables."""
    programs = [
        ("l1-h32", "forward", llama(1, 32), 2, 16, {}),
        ("l1-h32", "grad", llama(1, 32), 2, 16, {}),
        ("l1-h32-gqa", "train-sgdm", llama(1, 32, num_key_value_heads=2), 2, 16, {}),
        ("l2-h64", "forward", llama(2, 64), 2, 32, {"dtype": jnp.bfloat16}),
        ("l2-h64", "train-adamw-clip", llama(2, 64), 2, 32, {}),
    ]
    for model, kind, config, batch, length, options in programs:
        task = partial(
            causal_task, "FlaxLlamaForCausalLM", config, batch=batch, length=length, **options
        )
        yield program("llama", model, kind, batch, length, options, "FlaxLlamaForCausalLM", task)
    yield generation("llama", "l1-h32", "greedy-b1-s8", "FlaxLlamaForCausalLM", llama(1, 32), {})
