"""Text encoders and models of speech of Hugging Face transformers (Flax)."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from recipe import Recipe
from sources.transformers_audio import wav2vec2, wav2vec2_task
from sources.transformers_bert import head_recipes, sized
from sources.transformers_whisper import lower_transcription, whisper, whisper_task
from transformers_programs import LIBRARY, spelled

TEXT = {"vocab_size": 8192, "max_position_embeddings": 1024}
SPARSE = {"block_size": 32, "num_random_blocks": 1, "attention_type": "block_sparse"}

ENCODERS: tuple[tuple[str, str, dict[str, Any], dict[str, str]], ...] = (
    # Family, kind, options, model to variants.
    (
        *("bert", "Bert", TEXT),
        {
            "l4-h256-a4-mlm": "forward-b2-s128 train-lamb-b2-s64",
            "l6-h384-a6-qa": "train-adamw-clip-b1-s128-dropout-rbg",
        },
    ),
    ("albert", "Albert", {**TEXT, "embedding_size": 64}, {"l6-h256-a4-cls": "forward-b2-s128"}),
    ("roformer", "RoFormer", TEXT, {"l4-h256-a4-tags": "forward-b2-s128 train-adamw-b2-s64"}),
    ("big-bird", "BigBird", {**TEXT, **SPARSE}, {"l2-h256-a4-mlm": "forward-b1-s512 grad-b1-s512"}),
)

WAVES: dict[str, Any] = {
    "vocab_size": 32,
    "conv_dim": (256,) * 7,
    "conv_stride": (5, 2, 2, 2, 2, 2, 2),
    "conv_kernel": (10, 3, 3, 3, 3, 2, 2),
    "num_conv_pos_embeddings": 64,
    "num_conv_pos_embedding_groups": 16,
}
"""Options of wav2vec 2.0 as its authors have them, with narrower convolutions."""

SOUNDS: dict[str, Any] = {
    "vocab_size": 8192,
    "num_mel_bins": 80,
    "max_source_positions": 150,
    "max_target_positions": 128,
}
"""Options of Whisper for three seconds of sound."""


def lower_greedy(layers: int, width: int, batch: int) -> Any:
    """Lowers Whisper's decoding loop over three seconds of sound."""
    config = whisper(layers, width, 6, **SOUNDS)
    return lower_transcription(config, batch, frames=300, max_new_tokens=24)


def recipes() -> Iterator[Recipe]:
    """Yields the encoders, wav2vec 2.0 and Whisper."""
    for family, kind, options, programs in ENCODERS:
        configuration = partial(sized, kind, pad_token_id=0, eos_token_id=1, **options)
        yield from head_recipes(family, "", f"Flax{kind}", configuration, {}, programs)
    for head, name, variants in (
        ("ctc", "CTC", "forward-b1-s16000 train-adamw-b1-s8000"),
        ("contrast", "PreTraining", "grad-b1-s16000"),
    ):
        model = f"{head}-l4-h256-a4"
        task = partial(wav2vec2_task, name, wav2vec2(4, 256, 4, **WAVES))
        yield from spelled("wav2vec2", model, f"FlaxWav2Vec2For{name}", task, variants)
    config = whisper(3, 384, 6, **SOUNDS)
    variants = "forward-b1-s300-t32 train-adamw-b1-s300-t32"
    task = partial(whisper_task, config)
    yield from spelled("whisper", "l3-h384-a6", "FlaxWhisper, 80 bands,", task, variants)
    yield Recipe(
        name="whisper/l3-h384-a6/greedy-b1-s300",
        family="whisper",
        library=LIBRARY,
        recipe="FlaxWhisperForConditionalGeneration.generate l3-h384-a6; greedy-b1-s300; 24 tokens",
        lower=partial(lower_greedy, 3, 384, 1),
        scope="model",
    )
