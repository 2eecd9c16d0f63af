"""The models built like BERT, of Hugging Face transformers (Flax), under their heads.

One family with BERT: RoBERTa, ELECTRA, XLM-RoBERTa and RoBERTa-PreLayerNorm differ from it in the
embeddings, the head or where they normalise.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax.numpy as jnp
from recipe import Recipe
from sources.transformers_bert import bert_recipes, sized
from tasks import cross_entropy
from transformers_programs import masked_token_loss, program, text_task

PROGRAMS: dict[str, dict[str, str]] = {
    "Roberta": {
        "l2-h32-cls": "train-adamw-b2-s16 grad-b2-s16-mixed",
        "l2-h32-gelunew-qa": "train-lion-clip-b2-s16-bf16",
        "l4-h32-mlm": "train-adam-clip-cosine-b2-s16 forward-b2-s16-bf16",
        "l3-h32-choice": "accumulate-adafactor-b2-s16",
        "l2-h32-causal-clm": "train-rmsprop-b2-s16 hvp-b2-s16",
        "l6-h32-tags": "train-lamb-b2-s16-dropout-rbg",
    },
    "RobertaPreLayerNorm": {
        "l1-h32-mlm": "forward-b2-s16 train-adam-b2-s16",
        "l2-h32-cls": "train-sgdm-b2-s16-mixed grad-b2-s16",
        "l2-h32-relu-tags": "train-lion-b2-s16 per-example-grad-b2-s16",
        "l3-h32-qa": "train-adafactor-clip-b2-s16 remat-grad-b2-s16-bf16",
        "l4-h32-mlm": "train-adamw-clip-cosine-b2-s16-layerwise accumulate-adam-b2-s16",
        "l2-h32-causal-clm": "train-rmsprop-b2-s16-dropout-threefry2x32 forward-b2-s16",
        "l3-h32-untied-mlm": "train-lamb-b2-s16-bf16",
    },
    "XLMRoberta": {
        "l2-h32-tags": "train-adamw-b2-s16-bf16-dropout-rbg forward-b2-s16",
        "l4-h32-cls": "train-adam-cosine-b2-s16-layerwise grad-b2-s16",
        "l5-h32-mlm": "train-lion-b2-s16 loop-adafactor-b2-s16",
    },
    "Electra": {
        "l1-h32-e16-detect": "forward-b2-s16 train-adam-b2-s16",
        "l2-h32-e16-mlm": "train-adamw-b2-s16-mixed grad-b2-s16",
        "l2-h32-cls": "train-sgdm-clip-b2-s16 hvp-b2-s16",
        "l3-h32-e16-qa": "train-lamb-b2-s16-dropout-rbg forward-b2-s16-bf16",
        "l3-h32-relu-choice": "train-rmsprop-b2-s16",
        "l4-h32-e16-detect": "train-adamw-clip-cosine-b2-s16 accumulate-lion-b2-s16",
        "l6-h32-tags": "train-adafactor-b2-s16-layerwise loop-adam-b2-s16",
        "l2-h32-causal-clm": "train-nesterov-b2-s16",
    },
}
"""Kind of model to model to variants; both spell out what they are."""


def first_recipes() -> Iterator[Recipe]:
    """Yields small BERT, RoBERTa and ELECTRA models, named by kind, size and head."""
    programs: list[tuple[str, int, int, str, str, int, int, dict[str, Any]]] = [
        ("Bert", 1, 32, "mlm", "forward", 2, 16, {}),
        ("Bert", 1, 32, "mlm", "grad", 2, 16, {}),
        ("Bert", 1, 32, "cls", "train-sgdm", 2, 16, {}),
        ("Bert", 2, 64, "mlm", "forward", 4, 32, {"dtype": jnp.bfloat16}),
        ("Bert", 2, 64, "cls", "grad", 2, 24, {"dropout": "rbg"}),
        ("Bert", 2, 64, "mlm", "train-adamw", 2, 32, {}),
        ("Bert", 6, 48, "mlm", "train-adamw", 2, 32, {}),
        ("Roberta", 1, 32, "mlm", "train-adam", 2, 16, {}),
        ("Electra", 2, 32, "cls", "grad", 2, 16, {"checkpointed": True}),
    ]
    for kind, layers, hidden, head, variant, batch, length, options in programs:
        masked = head == "mlm"
        class_name = f"Flax{kind}{'ForMaskedLM' if masked else 'ForSequenceClassification'}"
        task = partial(
            text_task,
            class_name,
            sized(kind, layers, hidden, 4, num_labels=2),
            masked_token_loss if masked else cross_entropy,
            (batch, length) if masked else (batch,),
            batch=batch,
            length=length,
            **options,
        )
        remat = "-remat" if "checkpointed" in options else ""
        model = f"{kind.lower()}-l{layers}-h{hidden}{remat}-{head}"
        yield program("bert", model, variant, batch, length, options, class_name, task)


def recipes() -> Iterator[Recipe]:
    """Yields the first models of BERT's family, then those built like it."""
    yield from first_recipes()
    for kind, programs in PROGRAMS.items():
        yield from bert_recipes(kind, programs)
