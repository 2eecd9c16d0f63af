"""ALBERT, DistilBERT, RoFormer and BigBird of Hugging Face transformers (Flax), with heads."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import transformers
from recipe import Recipe
from sources.transformers_bert import head_recipes, sized


def distilbert(
    layers: int, hidden: int, heads: int, **options: Any
) -> transformers.DistilBertConfig:
    """Returns a small DistilBERT configuration."""
    sizes = {"n_layers": layers, "dim": hidden, "n_heads": heads, "hidden_dim": 4 * hidden}
    common = {"vocab_size": 128, "max_position_embeddings": 64, "num_labels": 4}
    return transformers.DistilBertConfig(**{**common, **sizes, **options})


SPARSE = {"block_size": 4, "num_random_blocks": 1, "attention_type": "block_sparse"}

FAMILIES: dict[str, tuple[str, Callable[..., Any], dict[str, dict[str, Any]], dict[str, str]]] = {
    "albert": (
        "FlaxAlbert",
        partial(sized, "Albert", embedding_size=16),
        {
            "g2": {"num_hidden_groups": 2},
            "i2": {"inner_group_num": 2},
            "drop": {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1},
            "relu": {"hidden_act": "relu"},
        },
        {
            "l1-h32-mlm": "forward-b2-s16 train-adam-b2-s16 hvp-b2-s16",
            "l2-h32-cls": "grad-b2-s16 train-sgdm-b2-s16-bf16",
            "l4-h32-g2-i2-tags": "train-adamw-b2-s16 accumulate-lion-b2-s16",
            "l4-h32-qa": "train-lamb-b2-s16-mixed remat-grad-b2-s16",
            "l3-h48-a3-relu-choice": "train-adafactor-b2-s16 forward-b2-s16-bf16",
            "l6-h32-i2-pretrain": "train-lamb-clip-cosine-b2-s16 loop-adam-b2-s16",
            "l6-h32-drop-mlm": "train-adamw-clip-b2-s16-dropout-rbg"
            " grad-b2-s16-dropout-threefry2x32",
            "l12-h32-mlm": "train-adamw-b2-s16-recompute forward-b2-s16 per-example-grad-b2-s16",
            "l2-h32-g2-embed": "train-rmsprop-b4-s16",
        },
    ),
    "distilbert": (
        "FlaxDistilBert",
        distilbert,
        {
            "sine": {"sinusoidal_pos_embds": True},
            "relu": {"activation": "relu"},
            "untied": {"tie_word_embeddings": False},
        },
        {
            "l1-h32-mlm": "forward-b2-s16 train-adamw-b2-s16 hvp-b2-s16",
            "l2-h32-cls": "grad-b2-s16-mixed train-adam-clip-b2-s16 loop-sgd-b2-s16",
            "l2-h48-a6-sine-tags": "train-lion-b2-s16-bf16 remat-grad-b2-s16",
            "l3-h32-relu-qa": "train-rmsprop-b2-s16-dropout-rbg forward-b2-s16-bf16",
            "l4-h32-untied-mlm": "train-lamb-b2-s16-dropout-threefry2x32 accumulate-adam-b2-s16",
            "l6-h32-sine-choice": "train-adafactor-b2-s16 per-example-grad-b2-s16",
            "l6-h32-mlm": "train-adamw-clip-cosine-b2-s16-mixed",
            "l2-h32-embed": "train-nesterov-b4-s16",
            "l3-h32-multilabel": "train-sgdm-b2-s16-recompute",
        },
    ),
    "roformer": (
        "FlaxRoFormer",
        partial(sized, "RoFormer"),
        {"value": {"rotary_value": True}, "relu": {"hidden_act": "relu"}},
        {
            "l1-h32-mlm": "forward-b2-s16 train-adam-b2-s16 hvp-b2-s16",
            "l2-h32-value-cls": "grad-b2-s16 train-sgdm-b2-s16-mixed",
            "l2-h48-a6-relu-tags": "train-lion-b2-s16-dropout-rbg forward-b2-s16-bf16",
            "l3-h32-qa": "train-adafactor-b2-s16 accumulate-adamw-b2-s16",
            "l4-h32-value-mlm": "train-lamb-clip-b2-s16-bf16 remat-grad-b2-s16",
            "l6-h32-choice": "train-rmsprop-b2-s16 loop-adam-b2-s16",
            "l8-h32-mlm": "train-adamw-clip-cosine-b2-s16-recompute",
            "l2-h32-score": "train-nesterov-b2-s16-dropout-threefry2x32",
        },
    ),
    "big-bird": (
        "FlaxBigBird",
        partial(sized, "BigBird", **SPARSE, hidden_act="gelu_new"),
        {
            "full": {"attention_type": "original_full"},
            "r2": {"num_random_blocks": 2},
            "rescale": {"rescale_embeddings": True},
            "nobias": {"use_bias": False},
        },
        {
            "l1-h32-mlm": "forward-b1-s32 grad-b1-s32 train-adam-b1-s32",
            "l1-h32-full-cls": "train-sgdm-b2-s16 hvp-b2-s16",
            "l2-h32-r2-qa": "train-adamw-b1-s64 forward-b1-s64-bf16",
            "l2-h32-nobias-tags": "train-lion-b1-s32-bf16 accumulate-adam-b1-s32",
            "l2-h32-rescale-choice": "train-adafactor-b1-s32",
            "l3-h32-pretrain": "train-lamb-b1-s32-mixed remat-grad-b1-s32",
            "l4-h32-mlm": "train-adamw-clip-cosine-b1-s32-recompute train-rmsprop-b1-s32",
            "l4-h32-full-multilabel": "loop-adamw-b2-s16",
            "l2-h32-cls": "train-adamw-b1-s32-dropout-threefry2x32",
        },
    ),
}
"""Family to first part of the class's name, configuration, words, and model to variants."""


def recipes() -> Iterator[Recipe]:
    """Yields every encoder of this file under its heads."""
    for family, parts in FAMILIES.items():
        yield from head_recipes(family, "", *parts)
