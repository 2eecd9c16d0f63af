"""Decoder-only language models of Hugging Face transformers (Flax) other than GPT-2 and LLaMA."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import transformers
from recipe import Recipe
from sources.transformers_llama import causal_task
from transformers_programs import VOCABULARY, configured, generation, spelled

COMMON = {"vocab_size": VOCABULARY, "use_cache": False, "pad_token_id": 1}


def gpt_neo(
    layers: int, hidden: int, heads: int, kinds: tuple[str, ...] = ("global", "local"), **more: Any
) -> transformers.GPTNeoConfig:
    """Returns a small GPT-Neo configuration; the kinds of attention take turns."""
    order = [kinds[layer % len(kinds)] for layer in range(layers)]
    sizes = {
        "num_layers": layers,
        "hidden_size": hidden,
        "num_heads": heads,
        "max_position_embeddings": 64,
        "window_size": 8,
        "attention_types": [[[kind], 1] for kind in order],
    }
    return transformers.GPTNeoConfig(**{**COMMON, **sizes, **more})


def gptj(layers: int, hidden: int, heads: int, **more: Any) -> transformers.GPTJConfig:
    """Returns a small GPT-J configuration."""
    sizes = {"n_layer": layers, "n_embd": hidden, "n_head": heads, "n_positions": 64}
    return transformers.GPTJConfig(**{**COMMON, **sizes, "rotary_dim": 4, **more})


def opt(layers: int, hidden: int, heads: int, **more: Any) -> transformers.OPTConfig:
    """Returns a small OPT configuration."""
    sizes = {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "ffn_dim": 4 * hidden,
        "max_position_embeddings": 64,
    }
    return transformers.OPTConfig(**{**COMMON, **sizes, **more})


def bloom(layers: int, hidden: int, heads: int, **more: Any) -> transformers.BloomConfig:
    """Returns a small BLOOM configuration."""
    sizes = {"n_layer": layers, "hidden_size": hidden, "n_head": heads, "seq_length": 64}
    return transformers.BloomConfig(**{**COMMON, **sizes, **more})


def xglm(layers: int, hidden: int, heads: int, **more: Any) -> transformers.XGLMConfig:
    """Returns a small XGLM configuration."""
    sizes = {
        "num_layers": layers,
        "d_model": hidden,
        "attention_heads": heads,
        "ffn_dim": 2 * hidden,
        "max_position_embeddings": 64,
    }
    return transformers.XGLMConfig(**{**COMMON, **sizes, **more})


class Family(NamedTuple):
    """Graphs that are lowered from one family.

    Attributes:
        class_name: Class of the language model.
        configuration: Takes layers, width, heads and options.
        words: Meaning of the words of a model's name for its configuration.
        programs: Model to variants; both spell out what they are.
        decoding: Model to variant to what `generate` takes.
    """

    class_name: str
    configuration: Callable[..., transformers.PretrainedConfig]
    words: dict[str, dict[str, Any]]
    programs: dict[str, str]
    decoding: dict[str, dict[str, dict[str, Any]]]


GREEDY: dict[str, Any] = {}
TOP_K = {"do_sample": True, "top_k": 8, "temperature": 0.7}
TOP_P = {"do_sample": True, "top_p": 0.8, "top_k": 0}
BEAM2 = {"num_beams": 2}
BEAM3 = {"num_beams": 3, "length_penalty": 0.8, "early_stopping": True}

FAMILIES: dict[str, Family] = {
    "gpt-neo": Family(
        "FlaxGPTNeoForCausalLM",
        gpt_neo,
        {
            "drop": {"resid_dropout": 0.1, "embed_dropout": 0.1, "attention_dropout": 0.1},
            "global": {"kinds": ("global",)},
            "local": {"kinds": ("local",)},
            "relu": {"activation_function": "relu"},
            "untied": {"tie_word_embeddings": False},
        },
        {
            "l1-h32-global": "forward-b2-s16 train-adam-b2-s16 hvp-b2-s16",
            "l1-h32-local": "grad-b2-s16 train-sgdm-b2-s16-bf16",
            "l2-h32": "forward-b2-s16-bf16 train-adamw-b2-s16 train-lion-clip-b2-s16-mixed"
            " accumulate-adam-b2-s16 per-example-grad-b2-s16",
            "l2-h48-a6-relu-untied": "train-lamb-b2-s16 remat-grad-b2-s24",
            "l2-h32-drop": "train-adamw-clip-b2-s16-dropout-rbg grad-b2-s16-dropout-threefry2x32",
            "l4-h32": "train-adafactor-b2-s16 loop-adamw-b2-s16 forward-b2-s32 grad-b2-s16-bf16",
            "l6-h32-local-untied": "train-rmsprop-cosine-b2-s16-recompute",
            "l8-h32": "train-adamw-clip-cosine-b2-s16 train-nesterov-b2-s16-bf16",
            "l12-h32": "train-sgd-clip-b1-s16",
        },
        {"l2-h32": {"greedy-b2-s8": GREEDY, "sample-topk-b2-s8": TOP_K, "beam2-b1-s8": BEAM2}},
    ),
    "gpt-j": Family(
        "FlaxGPTJForCausalLM",
        gptj,
        {
            "drop": {"resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1},
            "silu": {"activation_function": "silu"},
            "relu": {"activation_function": "relu"},
            "rotary8": {"rotary_dim": 8},
        },
        {
            "l1-h32": "forward-b2-s16 grad-b2-s16 train-sgd-b2-s16 hvp-b2-s16",
            "l1-h32-silu": "train-lion-b2-s16-bf16 train-adafactor-clip-b2-s16",
            "l2-h32": "train-adamw-b2-s16 train-adam-cosine-b2-s16-mixed loop-sgdm-b2-s16"
            " forward-b2-s32-bf16 per-example-grad-b2-s16",
            "l2-h48-a3-relu-rotary8": "train-lamb-clip-b2-s16 remat-grad-b2-s16",
            "l2-h32-drop": "train-adamw-b2-s16-dropout-threefry2x32 grad-b2-s16-bf16-dropout-rbg",
            "l4-h32": "train-rmsprop-clip-b2-s16-recompute accumulate-adamw-b2-s16 grad-b2-s16",
            "l6-h32-silu": "train-adam-b2-s16-bf16 forward-b2-s16",
            "l8-h32": "train-adamw-clip-cosine-b2-s16 train-nesterov-b2-s16-mixed",
        },
        {"l1-h32": {"greedy-b2-s8": GREEDY, "sample-topp-b2-s8": TOP_P, "beam3-b1-s8": BEAM3}},
    ),
    "opt": Family(
        "FlaxOPTForCausalLM",
        opt,
        {
            "postnorm": {"do_layer_norm_before": False},
            "project": {"word_embed_proj_dim": 16},
            "gelu": {"activation_function": "gelu"},
            "untied": {"tie_word_embeddings": False},
        },
        {
            "l1-h32": "forward-b2-s16 grad-b2-s16 train-adam-b2-s16 per-example-grad-b2-s16",
            "l1-h32-postnorm": "train-sgdm-b2-s16 grad-b2-s16-bf16",
            "l2-h32-project": "train-adamw-b2-s16 forward-b2-s16-bf16 hvp-b2-s16",
            "l2-h32-postnorm-project": "train-lion-b2-s16-mixed loop-adam-b2-s16",
            "l2-h48-a6-gelu-untied": "train-lamb-b2-s16-dropout-rbg accumulate-sgdm-b2-s16",
            "l4-h32": "train-adafactor-b2-s16-bf16 train-adamw-clip-b2-s16-recompute"
            " train-rmsprop-b2-s16-dropout-threefry2x32 remat-grad-b2-s16",
            "l6-h32-postnorm": "train-nesterov-cosine-b2-s16 forward-b2-s16",
            "l8-h32": "train-adamw-clip-cosine-b2-s16-mixed train-adam-b2-s16",
            "l12-h32-project": "train-sgd-b1-s16",
        },
        {"l2-h32": {"greedy-b2-s8": GREEDY, "sample-topk-b1-s8": TOP_K, "beam2-b1-s8": BEAM2}},
    ),
    "bloom": Family(
        "FlaxBloomForCausalLM",
        bloom,
        {
            "drop": {"hidden_dropout": 0.1, "attention_dropout": 0.1},
            "postresidual": {"apply_residual_connection_post_layernorm": True},
            "untied": {"tie_word_embeddings": False},
        },
        {
            "l1-h32": "forward-b2-s16 grad-b2-s16 train-adamw-b2-s16",
            "l2-h32": "forward-b2-s16-bf16 train-lion-b2-s16-mixed accumulate-adam-b2-s16"
            " hvp-b2-s16",
            "l2-h32-postresidual": "train-sgdm-clip-b2-s16 remat-grad-b2-s16",
            "l2-h32-a8": "train-rmsprop-b2-s16 per-example-grad-b2-s16",
            "l4-h32-drop-untied": "train-adam-b2-s16-dropout-rbg grad-b2-s16-dropout-threefry2x32",
            "l4-h32": "train-lamb-b2-s16-bf16 loop-adamw-b2-s16",
            "l8-h32": "train-adafactor-cosine-b2-s16 train-adamw-b2-s16-recompute",
        },
        {"l2-h32": {"greedy-b2-s8": GREEDY, "sample-topk-b2-s8": TOP_K, "beam2-b1-s8": BEAM2}},
    ),
    "xglm": Family(
        "FlaxXGLMForCausalLM",
        xglm,
        {
            "relu": {"activation_function": "relu"},
            "unscaled": {"scale_embedding": False},
            "untied": {"tie_word_embeddings": False},
            "innerdrop": {"activation_dropout": 0.1},
        },
        {
            "l1-h32": "forward-b2-s16 grad-b2-s16 train-adam-b2-s16",
            "l2-h32": "forward-b2-s16-bf16 train-adamw-b2-s16-mixed loop-sgd-b2-s16 hvp-b2-s16",
            "l2-h48-a6-relu-unscaled": "train-lamb-b2-s16 remat-grad-b2-s16",
            "l2-h32-innerdrop": "train-lion-b2-s16-dropout-threefry2x32",
            "l4-h32-untied": "train-adafactor-b2-s16-bf16 accumulate-adamw-b2-s16"
            " train-rmsprop-b2-s16-dropout-rbg",
            "l8-h32": "train-adamw-clip-cosine-b2-s16 train-sgdm-b2-s16-recompute",
        },
        {"l2-h32": {"greedy-b2-s8": GREEDY, "sample-topp-b2-s8": TOP_P, "beam2-b1-s8": BEAM2}},
    ),
}


def recipes() -> Iterator[Recipe]:
    """Yields every decoder-only model: forward, gradients, training steps, decoding loops."""
    for family, (class_name, configuration, words, programs, decoding) in FAMILIES.items():
        for model, variants in programs.items():
            task = partial(causal_task, class_name, configured(model, configuration, words))
            yield from spelled(family, model, class_name, task, variants)
        for model, loops in decoding.items():
            config = configured(model, configuration, words)
            for variant, options in loops.items():
                yield generation(family, model, variant, class_name, config, options)
