"""BART and the models built like it, of Hugging Face transformers (Flax), as one family.

mBART, Pegasus, Marian, Blenderbot and Blenderbot-Small differ from BART in where they normalise,
in their positions and in small options.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import transformers
from recipe import Recipe, abstract, array, cast, key
from sources.transformers_bert import HEADS
from sources.transformers_llama import causal_task
from sources.transformers_seq2seq import lower_generation, translation_task
from tasks import Task
from transformers_programs import LIBRARY, configured, encoder_decoder_sizes, spelled

WORDS: dict[str, dict[str, Any]] = {
    "d1": {"decoder_layers": 1},
    "d3": {"decoder_layers": 3},
    "relu": {"activation_function": "relu"},
    "silu": {"activation_function": "silu"},
    "scaled": {"scale_embedding": True},
    "innerdrop": {"activation_dropout": 0.1, "attention_dropout": 0.1},
    "nodrop": {"dropout": 0.0, "attention_dropout": 0.1},
    "untied": {"tie_word_embeddings": False},
}
"""Meaning of the words of a model's name for its configuration."""


def bart_like(
    kind: str, layers: int, hidden: int, heads: int, **options: Any
) -> transformers.PretrainedConfig:
    """Returns a small configuration of BART or of a model built like it."""
    sizes = encoder_decoder_sizes(layers, hidden, heads)
    common = {
        "vocab_size": 128,
        "max_position_embeddings": 64,
        "num_labels": 4,
        "pad_token_id": 1,
        "eos_token_id": 2,
        "forced_eos_token_id": None,
        "decoder_start_token_id": 2,
    }
    return getattr(transformers, f"{kind}Config")(**{**common, **sizes, **options})


def pair_task(
    class_name: str, config: transformers.PretrainedConfig, *, target: int, **options: Any
) -> Task:
    """Returns `translation_task` with the lengths as `read_variant` names them."""
    lengths = (options.pop("length"), target)
    return translation_task(class_name, config, lengths=lengths, **options)


def head_task(
    class_name: str,
    head: str,
    config: transformers.PretrainedConfig,
    *,
    batch: int,
    length: int,
    dtype: Any = jnp.float32,
    mixed: bool = False,
    dropout: str | None = None,
) -> Task:
    """Returns the task of an encoder-decoder that reads one text twice, under a head."""
    model: Any = getattr(transformers, class_name)(config, _do_init=False, dtype=dtype)

    def run(params: Any, tokens: jax.Array, mask: jax.Array, *rng: Any) -> Any:
        options = {"dropout_rng": rng[0], "train": True} if rng else {}
        return model(tokens, attention_mask=mask, params=params, **options)

    tokens = array(batch, length, dtype=jnp.int32)
    labels = array(*HEADS[head].labels(batch, length), dtype=HEADS[head].kind)
    return Task(
        params=cast(abstract(model.params_shape_tree), jnp.float32 if mixed else dtype),
        state={},
        batch=(tokens, tokens, labels, *([key(dropout)] if dropout else [])),
        forward=lambda params, state, tokens, mask, *_: run(params, tokens, mask).to_tuple(),
        loss=lambda params, state, tokens, mask, labels, *rng: (
            HEADS[head].loss(run(params, tokens, mask, *rng), labels),
            state,
        ),
    )


PROGRAMS: dict[str, dict[str, str]] = {
    "Bart": {
        "l1-h32-relu": "train-adam-b2-s16-t8 hvp-b2-s16-t8 grad-b2-s16-t8-bf16",
        "l2-h32-d1": "train-lion-clip-b2-s16-t8 forward-b2-s16-t8-bf16",
        "l2-h32": "train-adamw-b2-s16-t8-dropout-rbg accumulate-adam-b2-s16-t8"
        " per-example-grad-b2-s16-t8",
        "l3-h48-a6-scaled": "train-adafactor-b2-s16-t8-mixed loop-sgd-b2-s16-t8",
        "l6-h32": "train-adamw-clip-cosine-b2-s16-t8",
        "l2-h32-innerdrop": "train-lamb-b2-s16-t8-dropout-threefry2x32",
    },
    "MBart": {
        "l1-h32": "forward-b2-s16-t8 train-sgdm-b2-s16-t8",
        "l2-h32-d3": "grad-b2-s16-t8-mixed train-lion-b2-s16-t8",
        "l2-h32-nodrop": "train-rmsprop-b2-s16-t8-dropout-threefry2x32",
        "l4-h32-relu": "train-adamw-b2-s16-t8-recompute remat-grad-b2-s16-t8",
        "l6-h32": "forward-b2-s16-t8-bf16",
    },
    "Pegasus": {
        "l1-h32": "forward-b2-s16-t8 train-adafactor-b2-s16-t8",
        "l2-h32-scaled": "grad-b2-s16-t8 train-adam-cosine-b2-s16-t8-mixed",
        "l3-h32-d1": "loop-adamw-b2-s16-t8",
        "l4-h48-a6": "train-adamw-b2-s16-t8-dropout-rbg",
    },
    "Marian": {
        "l1-h32": "forward-b2-s16-t8 train-adam-b2-s16-t8",
        "l2-h32-silu-scaled": "grad-b2-s16-t8 train-lion-b2-s16-t8-bf16",
        "l3-h32-d1": "train-adamw-b2-s16-t8-dropout-threefry2x32",
        "l6-h32-relu": "train-adam-clip-cosine-b2-s16-t8-mixed",
    },
    "Blenderbot": {
        "l1-h32-scaled": "forward-b2-s16-t8 train-nesterov-b2-s16-t8",
        "l1-h32-d3": "grad-b2-s16-t8-bf16 train-adamw-b2-s16-t8-recompute-all-but-products",
        "l2-h48-a6": "train-rmsprop-clip-b2-s16-t8",
        "l4-h32": "train-adafactor-b2-s16-t8-dropout-rbg",
    },
    "BlenderbotSmall": {
        "l1-h32": "forward-b2-s16-t8 train-adamw-b2-s16-t8",
        "l2-h32-relu": "grad-b2-s16-t8 train-lamb-b2-s16-t8-bf16",
        "l3-h32-d1-scaled": "accumulate-sgdm-b2-s16-t8 train-adam-b2-s16-t8-dropout-rbg",
    },
}
"""Kind of model to model to variants of predicting target tokens from source tokens."""

HEADED: dict[str, dict[str, str]] = {
    "Bart": {
        "l2-h32-cls": "train-adamw-b2-s16 forward-b2-s16",
        "l2-h32-silu-qa": "train-lion-b2-s16-mixed grad-b2-s16",
        "l4-h32-d1-qa": "train-adafactor-b2-s16-dropout-rbg",
        "l4-h32-cls": "train-adam-clip-b2-s16-bf16",
    },
    "MBart": {
        "l2-h32-cls": "train-lamb-b2-s16 grad-b2-s16-bf16",
        "l3-h32-qa": "train-adamw-cosine-b2-s16 loop-adam-b2-s16",
    },
}
"""Kind of model to model, which ends in its head, to variants."""

CAUSAL: dict[str, str] = {
    "l1-h32-clm": "forward-b2-s16 train-adam-b2-s16",
    "l2-h32-relu-clm": "grad-b2-s16-bf16 train-lion-b2-s16 accumulate-adamw-b2-s16",
    "l4-h32-scaled-clm": "train-adamw-clip-cosine-b2-s16-mixed train-sgdm-b2-s16-dropout-rbg",
}
"""BART's decoder on its own, a language model: model to variants."""

DECODING: dict[str, dict[str, dict[str, Any]]] = {
    "Bart": {"beam2-b1-s8": {"num_beams": 2, "forced_eos_token_id": 2}},
    "MBart": {"greedy-b1-s8": {"forced_bos_token_id": 5}},
    "Pegasus": {"beam3-b1-s8": {"num_beams": 3, "length_penalty": 0.8}},
    "Marian": {"greedy-b1-s8": {}, "beam2-b1-s8": {"num_beams": 2}},
    "Blenderbot": {"greedy-b1-s8": {"min_length": 4}},
    "BlenderbotSmall": {"sample-topk-b1-s8": {"do_sample": True, "top_k": 4}},
}
"""Kind of model to variant to what `generate` takes."""


def class_of(kind: str) -> str:
    """Returns the class that predicts target tokens."""
    return "FlaxMarianMTModel" if kind == "Marian" else f"Flax{kind}ForConditionalGeneration"


def recipes() -> Iterator[Recipe]:
    """Yields BART's family: forward, gradients, training steps, heads, decoding loops."""
    for kind, programs in PROGRAMS.items():
        prefix = "" if kind == "Bart" else f"{kind.lower()}-"
        configuration = partial(bart_like, kind)
        for model, variants in programs.items():
            task = partial(pair_task, class_of(kind), configured(model, configuration, WORDS))
            yield from spelled("bart", prefix + model, class_of(kind), task, variants)
        for model, variants in HEADED.get(kind, {}).items():
            body, _, head = model.rpartition("-")
            class_name = f"Flax{kind}{HEADS[head].suffix}"
            config = configured(body, configuration, WORDS)
            config.num_labels = {"cls": 4, "qa": 2}[head]
            task = partial(head_task, class_name, head, config)
            yield from spelled("bart", prefix + model, class_name, task, variants)
        for variant, options in DECODING[kind].items():
            config = bart_like(kind, 2, 32, 4)
            words = ", ".join(f"{name} {value}" for name, value in options.items())
            yield Recipe(
                name=f"bart/{prefix}l2-h32/{variant}",
                family="bart",
                library=LIBRARY,
                recipe=f"{class_of(kind)}.generate l2-h32; {variant}; 8 new tokens; {words}",
                lower=partial(lower_generation, class_of(kind), config, 8, **options),
                scope="model",
            )
    for model, variants in CAUSAL.items():
        config = configured(model.removesuffix("-clm"), partial(bart_like, "Bart"), WORDS)
        task = partial(causal_task, "FlaxBartForCausalLM", config)
        yield from spelled("bart", model, "FlaxBartForCausalLM", task, variants)
