"""Language models of Hugging Face transformers (Flax): prefill, training, and decoding loops."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import transformers
from recipe import Recipe
from sources.transformers_bart import bart_like, pair_task
from sources.transformers_decoders import bloom, gpt_neo, gptj
from sources.transformers_gpt2 import gpt2
from sources.transformers_gpt2_serving import lower_cached_step
from sources.transformers_llama import causal_task, llama
from sources.transformers_t5 import t5_like
from tasks import Task
from transformers_programs import configured, generation, spelled

LIBRARY = "transformers"
VOCABULARY = {"vocab_size": 8192}
POSITIONS = {"max_position_embeddings": 1024}

GREEDY: dict[str, Any] = {"max_new_tokens": 24}
TOP_K = {"do_sample": True, "top_k": 40, "temperature": 0.8, "max_new_tokens": 24}
TOP_P = {"do_sample": True, "top_p": 0.9, "top_k": 0, "max_new_tokens": 16}
BEAM = {"num_beams": 4, "length_penalty": 0.8, "early_stopping": True, "max_new_tokens": 12}

WORDS: dict[str, dict[str, Any]] = {
    "gqa": {"num_key_value_heads": 2},
    "mqa": {"num_key_value_heads": 1},
    "window": {"sliding_window": 64},
    "gated": {"feed_forward_proj": "gated-gelu"},
    "local": {"encoder_attention_type": "local"},
    "global": {"encoder_attention_type": "transient-global"},
}
"""Meaning of the words of a model's name for its configuration."""


class Family(NamedTuple):
    """Programs of one family.

    Attributes:
        name: Family.
        class_name: Class of the model.
        configuration: Takes layers, width, heads and options.
        task: Takes class and configuration, then what a variant says.
        model: Layers, width and heads, then words.
        programs: Variants, which spell out what they are.
        decoding: Variant to what `generate` takes.
    """

    name: str
    class_name: str
    configuration: Callable[..., transformers.PretrainedConfig]
    task: Callable[..., Task]
    model: str
    programs: str
    decoding: dict[str, dict[str, Any]]


def long_t5(layers: int, hidden: int, heads: int, **options: Any) -> transformers.PretrainedConfig:
    """Returns LongT5 with windows as wide as its authors'."""
    return t5_like(
        "LongT5", layers, hidden, heads, local_radius=63, global_block_size=16, **options
    )


GPT2 = partial(gpt2, n_positions=1024, **VOCABULARY)
# These hold tables of sines for every position as constants.
LLAMA = partial(llama, max_position_embeddings=192, **VOCABULARY)
GEMMA, MISTRAL = partial(LLAMA, kind="Gemma"), partial(LLAMA, kind="Mistral")
CAUSAL, PAIRS = causal_task, pair_task

FAMILIES: tuple[Family, ...] = (
    Family(
        *("gpt2", "FlaxGPT2LMHeadModel", GPT2, CAUSAL, "l6-h384-a6"),
        "forward-b1-s256 train-adamw-clip-b2-s64",
        {"greedy-b1-s128": GREEDY, "sample-topk-b4-s32": TOP_K},
    ),
    Family(
        *("gpt2", "FlaxGPT2LMHeadModel", GPT2, CAUSAL, "l4-h256-a8"),
        "train-adam-b4-s64-dropout-threefry2x32 grad-b2-s128-mixed",
        {"beam4-b1-s32": BEAM},
    ),
    Family(
        *("llama", "FlaxLlamaForCausalLM", LLAMA, CAUSAL, "l4-h384-a12-gqa"),
        "forward-b1-s192 train-adamw-clip-b2-s64",
        {"greedy-b1-s64": GREEDY, "sample-topp-b2-s32": TOP_P},
    ),
    Family(
        *("gemma", "FlaxGemmaForCausalLM", GEMMA, CAUSAL, "l4-h256-a8-mqa"),
        "forward-b1-s192 train-adafactor-b2-s64",
        {"sample-topk-b1-s64": TOP_K},
    ),
    Family(
        *("mistral", "FlaxMistralForCausalLM", MISTRAL, CAUSAL, "l4-h256-a8-gqa-window"),
        *("forward-b2-s192 train-lion-b2-s64-recompute", {}),
    ),
    Family(
        *("gpt-neo", "FlaxGPTNeoForCausalLM"),
        partial(gpt_neo, window_size=64, **VOCABULARY, **POSITIONS),
        *(CAUSAL, "l4-h256-a4", "forward-b1-s256 train-adamw-b2-s64", {}),
    ),
    Family(
        *("gpt-j", "FlaxGPTJForCausalLM"),
        partial(gptj, n_positions=256, rotary_dim=32, **VOCABULARY),
        *(CAUSAL, "l4-h256-a4", "forward-b1-s256", {"greedy-b2-s64": GREEDY}),
    ),
    Family(
        *("bloom", "FlaxBloomForCausalLM", partial(bloom, seq_length=1024, **VOCABULARY), CAUSAL),
        *("l4-h256-a8", "forward-b1-s256 train-adam-b2-s64", {}),
    ),
    Family(
        *("t5", "FlaxT5ForConditionalGeneration", partial(t5_like, "T5", **VOCABULARY), PAIRS),
        *("l3-h256-a4-gated", "forward-b2-s128-t32 train-adafactor-b2-s64-t32", {}),
    ),
    Family(
        *("t5", "FlaxLongT5ForConditionalGeneration", partial(long_t5, **VOCABULARY), PAIRS),
        *("long-l2-h256-a4-local", "forward-b1-s1024-t32", {}),
    ),
    Family(
        *("bart", "FlaxBartForConditionalGeneration"),
        partial(bart_like, "Bart", **VOCABULARY, **POSITIONS),
        *(PAIRS, "l3-h256-a4", "forward-b2-s128-t32 train-adamw-b2-s64-t32", {}),
    ),
)

CACHED_STEPS: dict[str, tuple[int, int, bool]] = {
    "cached-step-b1-s512": (1, 512, False),
    "sampled-step-b8-s256": (8, 256, True),
}
"""Variant to batch, capacity of the cache and whether the token is drawn."""


def recipes() -> Iterator[Recipe]:
    """Yields the programs of all families, and single steps of serving GPT-2."""
    for family in FAMILIES:
        name, class_name, model = family.name, family.class_name, family.model
        config = configured(model.removeprefix("long-"), family.configuration, WORDS)
        task = partial(family.task, class_name, config)
        words = f"{class_name}, vocabulary 8192,"
        yield from spelled(name, model, words, task, family.programs)
        for variant, options in family.decoding.items():
            yield generation(name, model, variant, class_name, config, options)
    config = GPT2(6, 384, 6)
    for variant, (batch, capacity, sampled) in CACHED_STEPS.items():
        yield Recipe(
            name=f"gpt2/l6-h384-a6/{variant}",
            family="gpt2",
            library=LIBRARY,
            recipe=f"FlaxGPT2LMHeadModel, vocabulary 8192, l6-h384-a6; {variant}",
            lower=partial(lower_cached_step, config, batch, capacity, sampled),
            scope="model",
        )
