"""Whisper of Hugging Face transformers (Flax): transcription, and classification of sounds."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import transformers
from recipe import Recipe, abstract, array, cast, key
from tasks import Task, cross_entropy
from transformers_programs import LIBRARY, MARKS, configured, encoder_decoder_sizes, spelled


def whisper(layers: int, hidden: int, heads: int, **options: Any) -> transformers.WhisperConfig:
    """Returns a small Whisper configuration, for 32 frames of 16 channels."""
    sizes = encoder_decoder_sizes(layers, hidden, heads)
    common = {
        "vocab_size": 128,
        "num_mel_bins": 16,
        "max_source_positions": 16,
        "max_target_positions": 32,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 3,
        "begin_suppress_tokens": None,
        "classifier_proj_size": 16,
        "num_labels": 4,
    }
    return transformers.WhisperConfig(**{**common, **sizes, **options})


def whisper_task(
    config: transformers.WhisperConfig,
    *,
    batch: int,
    length: int,
    target: int | None = None,
    dtype: Any = jnp.float32,
    mixed: bool = False,
    dropout: str | None = None,
    policy: str | None = None,
    checkpointed: bool = False,
) -> Task:
    """Returns transcription, or classification of sounds where there is no target.

    Args:
        config: Whisper's configuration.
        batch: Sounds in a batch.
        length: Frames of a sound.
        target: Tokens of a text; without it sounds are classified.
        dtype: Type of parameters and computation.
        mixed: Keep the parameters in float32 and only compute in `dtype`.
        dropout: Implementation of the random key that drives dropout; without it there is none.
        policy: What the backward pass need not recompute; without it nothing is recomputed.
        checkpointed: Recompute each layer in the backward pass.
    """
    head = "AudioClassification" if target is None else "ConditionalGeneration"
    model: Any = getattr(transformers, f"FlaxWhisperFor{head}")(config, _do_init=False, dtype=dtype)
    if checkpointed:
        model.enable_gradient_checkpointing()

    def logits(params: Any, frames: jax.Array, labels: jax.Array, *rng: jax.Array) -> jax.Array:
        options: dict[str, Any] = {"dropout_rng": rng[0], "train": True} if rng else {}
        if target is not None:
            options["decoder_input_ids"] = labels
        return model(frames, params=params, **options).logits

    def loss(params: Any, state: Any, frames: Any, labels: Any, *rng: Any) -> Any:
        scores = logits(params, frames, labels, *rng)
        if target is None:
            return cross_entropy(scores, labels), state
        return cross_entropy(scores[:, :-1], labels[:, 1:]), state

    recomputed = policy and jax.checkpoint(loss, policy=getattr(jax.checkpoint_policies, policy))
    labels = (batch,) if target is None else (batch, target)
    return Task(
        params=cast(abstract(model.params_shape_tree), jnp.float32 if mixed else dtype),
        state={},
        batch=(
            array(batch, config.num_mel_bins, length, dtype=dtype),
            array(*labels, dtype=jnp.int32),
            *([key(dropout)] if dropout else []),
        ),
        forward=lambda params, state, frames, labels, *_: logits(params, frames, labels),
        loss=recomputed or loss,
    )


def lower_transcription(
    config: Any, batch: int, frames: int = 32, **options: Any
) -> jax.stages.Lowered:
    """Lowers Whisper's own decoding loop over a number of frames."""
    model: Any = transformers.FlaxWhisperForConditionalGeneration(config, _do_init=False)

    def generate(params: Any, sounds: jax.Array, rng: jax.Array) -> jax.Array:
        limits = {"max_new_tokens": 8, "prng_key": rng, **options}
        return model.generate(sounds, params=params, **limits).sequences

    rng = jax.eval_shape(lambda: jax.random.PRNGKey(0))
    sounds = array(batch, config.num_mel_bins, frames)
    return jax.jit(generate).lower(abstract(model.params_shape_tree), sounds, rng)


WORDS: dict[str, dict[str, Any]] = {
    "d1": {"decoder_layers": 1},
    "relu": {"activation_function": "relu"},
    "scaled": {"scale_embedding": True},
    "drop": {"dropout": 0.1, "attention_dropout": 0.1, "activation_dropout": 0.1},
}
"""Meaning of the words of a model's name for its configuration."""

PROGRAMS: dict[str, str] = {
    "l1-h32": "forward-b2-s32-t8 train-adam-b2-s32-t8 hvp-b1-s32-t8",
    "l2-h32-d1": "grad-b2-s32-t8-mixed train-lion-clip-b2-s32-t8",
    "l2-h48-a6-relu-scaled": "train-adafactor-b2-s32-t8-bf16 accumulate-adam-b2-s32-t8",
    "l3-h32-drop": "train-adamw-b2-s32-t8-dropout-rbg grad-b2-s32-t8-dropout-threefry2x32",
    "l4-h32": "train-adamw-clip-cosine-b2-s32-t8 train-lamb-b2-s32-t8-layerwise"
    " loop-sgdm-b2-s32-t8 remat-grad-b2-s32-t8 forward-b2-s32-t16-bf16",
    "l8-h32": "train-rmsprop-b1-s32-t8-mixed",
    "sounds-l2-h32": "train-adam-b2-s32 forward-b2-s32",
    "sounds-l4-h32-relu": "train-adamw-b2-s32-bf16 grad-b2-s32 train-sgdm-b2-s32-recompute",
}
"""Model to variants; `s` counts frames and `t` tokens."""

DECODING: dict[str, dict[str, Any]] = {
    "greedy-b2": {},
    "beam2-b1": {"num_beams": 2},
    "sample-topk-b1": {"do_sample": True, "top_k": 8},
}
"""Variant to what `generate` takes."""


def recipes() -> Iterator[Recipe]:
    """Yields the programs of Whisper."""
    marks = MARKS | {"layerwise": {"checkpointed": True}}
    for model, variants in PROGRAMS.items():
        task = partial(whisper_task, configured(model.removeprefix("sounds-"), whisper, WORDS))
        yield from spelled("whisper", model, "FlaxWhisper", task, variants, marks)
    for variant, options in DECODING.items():
        yield Recipe(
            name=f"whisper/l2-h32/{variant}",
            family="whisper",
            library=LIBRARY,
            recipe=f"FlaxWhisperForConditionalGeneration.generate l2-h32; {variant}; 8 new tokens",
            lower=partial(
                lower_transcription, whisper(2, 32, 4), int(variant.rpartition("-b")[2]), **options
            ),
            scope="model",
        )
