"""The models built like BERT, of Hugging Face transformers (Flax), under their heads.

One family with BERT: RoBERTa, ELECTRA, XLM-RoBERTa and RoBERTa-PreLayerNorm differ from it in the
embeddings, the head or where they normalise.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator

from recipe import Recipe
from sources.transformers_bert import bert_recipes

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


def recipes() -> Iterator[Recipe]:
    """Yields the models of BERT's family but BERT itself."""
    for kind, programs in PROGRAMS.items():
        yield from bert_recipes(kind, programs)
