"""T5 and the models built like it, of Hugging Face transformers (Flax): mT5 and LongT5."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import transformers
from recipe import Recipe, abstract, array, cast
from sources.transformers_bart import pair_task
from sources.transformers_bert import contrastive_loss

# The module of T5 is patched where it is imported first, so nothing is to be done here.
from sources.transformers_seq2seq import lower_generation
from tasks import Task
from transformers_programs import LIBRARY, MARKS, configured, spelled

WORDS: dict[str, dict[str, Any]] = {
    "d1": {"num_decoder_layers": 1},
    "d3": {"num_decoder_layers": 3},
    "gated": {"feed_forward_proj": "gated-gelu"},
    "gatedsilu": {"feed_forward_proj": "gated-silu"},
    "untied": {"tie_word_embeddings": False},
    "wide": {"d_kv": 16},
    "local": {"encoder_attention_type": "local"},
    "global": {"encoder_attention_type": "transient-global"},
}
"""Meaning of the words of a model's name for its configuration."""


def t5_like(
    kind: str, layers: int, hidden: int, heads: int, **options: Any
) -> transformers.PretrainedConfig:
    """Returns a small configuration of T5 or of a model built like it."""
    sizes = {
        "num_layers": layers,
        "d_model": hidden,
        "d_ff": 2 * hidden,
        "d_kv": hidden // heads,
        "num_heads": heads,
    }
    common = {
        "vocab_size": 128,
        "decoder_start_token_id": 0,
        "relative_attention_num_buckets": 8,
        "relative_attention_max_distance": 32,
    }
    long = {"local_radius": 4, "global_block_size": 4} if kind == "LongT5" else {}
    return getattr(transformers, f"{kind}Config")(**{**common, **long, **sizes, **options})


def embedding_task(
    config: transformers.PretrainedConfig,
    *,
    batch: int,
    length: int,
    dtype: Any = jnp.float32,
    mixed: bool = False,
) -> Task:
    """Returns the task of telling sentences apart by what T5's encoder makes of them."""
    model: Any = transformers.FlaxT5EncoderModel(config, _do_init=False, dtype=dtype)

    def run(params: Any, tokens: jax.Array, mask: jax.Array) -> Any:
        return model(tokens, attention_mask=mask, params=params)

    tokens = array(batch, length, dtype=jnp.int32)
    return Task(
        params=cast(abstract(model.params_shape_tree), jnp.float32 if mixed else dtype),
        state={},
        batch=(tokens, tokens, array(batch, dtype=jnp.int32)),
        forward=lambda params, state, tokens, mask, labels: run(params, tokens, mask).to_tuple(),
        loss=lambda params, state, tokens, mask, labels: (
            contrastive_loss(run(params, tokens, mask), labels),
            state,
        ),
    )


PROGRAMS: dict[str, dict[str, str]] = {
    "T5": {
        "l1-h32": "train-adafactor-b2-s16-t8 hvp-b1-s16-t8 per-example-grad-b2-s16-t8",
        "l2-h32-gated": "train-adam-b2-s16-t8 grad-b2-s16-t8-mixed",
        "l2-h32-d1": "train-lion-clip-b2-s16-t8 forward-b2-s16-t8",
        "l2-h32-untied": "train-sgdm-b2-s16-t8-dropout-threefry2x32 accumulate-adafactor-b2-s16-t8",
        "l3-h48-a6-gatedsilu-untied": "train-lamb-b2-s16-t8-bf16 loop-adam-b2-s16-t8",
        "l4-h32": "train-adamw-clip-cosine-b2-s16-t8 train-rmsprop-b2-s16-t8-layerwise"
        " remat-grad-b2-s16-t8",
        "l6-h32-wide": "train-adafactor-clip-b2-s16-t8-mixed forward-b2-s16-t8-bf16",
        "l8-h32-gated": "train-adamw-b1-s16-t8-recompute",
    },
    "MT5": {
        "l2-h32": "train-adafactor-b2-s16-t8 forward-b2-s16-t8",
        "l3-h32-d1": "train-adamw-b2-s16-t8-dropout-rbg grad-b2-s16-t8",
        "l4-h32": "train-nesterov-cosine-b2-s16-t8-bf16 accumulate-lion-b2-s16-t8",
    },
    "LongT5": {
        "l1-h32-local": "forward-b2-s24-t8 train-adam-b2-s24-t8",
        "l1-h32-global": "forward-b2-s24-t8 train-adafactor-b2-s24-t8 hvp-b1-s24-t8",
        "l2-h32-local": "grad-b2-s24-t8-mixed train-adamw-clip-b2-s24-t8 loop-sgdm-b1-s24-t8",
        "l2-h32-global-d1": "grad-b2-s24-t8 train-lion-b2-s24-t8-bf16",
        "l4-h32-global": "train-lamb-b1-s24-t8 train-adamw-b1-s24-t8-layerwise",
        "l4-h32-local-d3": "train-rmsprop-b1-s24-t8-dropout-rbg remat-grad-b1-s24-t8",
    },
}
"""Kind of model to model to variants; both spell out what they are."""

EMBEDDING: dict[str, str] = {
    "encoder-l2-h32": "forward-b4-s16 train-adam-b4-s16 grad-b4-s16-bf16",
    "encoder-l6-h32": "train-adafactor-b4-s16-mixed loop-adamw-b4-s16",
}
"""T5's encoder alone: model to variants."""

DECODING: dict[str, dict[str, dict[str, Any]]] = {
    "T5": {"greedy-b1-s8": {}, "sample-topp-b1-s8": {"do_sample": True, "top_p": 0.9}},
    "MT5": {"beam3-b1-s8": {"num_beams": 3, "length_penalty": 0.6}},
    "LongT5": {"greedy-b1-s8": {}, "beam2-b1-s8": {"num_beams": 2}},
}
"""Kind of model to variant to what `generate` takes."""


def recipes() -> Iterator[Recipe]:
    """Yields T5's family: forward, gradients, training steps, decoding loops."""
    marks = MARKS | {"layerwise": {"checkpointed": True}}
    for kind, programs in PROGRAMS.items():
        prefix = "" if kind == "T5" else f"{kind.lower()}-"
        class_name = f"Flax{kind}ForConditionalGeneration"
        configuration = partial(t5_like, kind)
        for model, variants in programs.items():
            task = partial(pair_task, class_name, configured(model, configuration, WORDS))
            yield from spelled("t5", prefix + model, class_name, task, variants, marks)
        for variant, options in DECODING[kind].items():
            words = ", ".join(f"{name} {value}" for name, value in options.items())
            yield Recipe(
                name=f"t5/{prefix}l2-h32-gated/{variant}",
                family="t5",
                library=LIBRARY,
                recipe=f"{class_name}.generate l2-h32-gated; {variant}; 8 new tokens; {words}",
                lower=partial(
                    lower_generation,
                    class_name,
                    t5_like(kind, 2, 32, 4, feed_forward_proj="gated-gelu"),
                    8,
                    **options,
                ),
                scope="model",
            )
    for model, variants in EMBEDDING.items():
        config = configured(model.removeprefix("encoder-"), partial(t5_like, "T5"), WORDS)
        task = partial(embedding_task, config)
        yield from spelled("t5", model, "FlaxT5EncoderModel", task, variants)
