"""wav2vec 2.0 of Hugging Face transformers (Flax): transcription and pretraining on waveforms."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
import transformers
from recipe import Recipe, abstract, array, cast, key
from tasks import Task, cross_entropy
from transformers_programs import MARKS, configured, spelled


def wav2vec2(layers: int, hidden: int, heads: int, **options: Any) -> transformers.Wav2Vec2Config:
    """Returns a small wav2vec 2.0 configuration, with three convolutions over the waveform."""
    sizes = {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "intermediate_size": 2 * hidden,
    }
    common = {
        "vocab_size": 32,
        "conv_dim": (16, 16, 16),
        "conv_stride": (4, 2, 2),
        "conv_kernel": (8, 3, 2),
        "num_conv_pos_embeddings": 8,
        "num_conv_pos_embedding_groups": 4,
        "feat_extract_norm": "layer",
        "do_stable_layer_norm": True,
        "codevector_dim": 16,
        "proj_codevector_dim": 16,
        "num_codevectors_per_group": 8,
    }
    return transformers.Wav2Vec2Config(**{**common, **sizes, **options})


def contrastive_loss(output: Any) -> jax.Array:
    """Returns the loss of telling frames by their codes, less a reward for using many codes."""
    states = output.projected_states.astype(jnp.float32)
    codes = output.projected_quantized_states.astype(jnp.float32)
    similarity = optax.cosine_similarity(states[:, :, None], codes[:, None], epsilon=1e-8) / 0.1
    frames = jnp.broadcast_to(jnp.arange(states.shape[1]), states.shape[:2])
    return cross_entropy(similarity, frames) - 0.1 * jnp.log(output.codevector_perplexity)


def wav2vec2_task(
    head: str,
    config: transformers.Wav2Vec2Config,
    *,
    batch: int,
    length: int,
    dtype: Any = jnp.float32,
    mixed: bool = False,
    dropout: str | None = None,
    freeze: bool = False,
) -> Task:
    """Returns transcription by CTC, or pretraining by contrast.

    Args:
        head: `CTC` or `PreTraining`.
        config: The configuration.
        batch: Waveforms in a batch.
        length: Samples of a waveform.
        dtype: Type of parameters and computation.
        mixed: Keep the parameters in float32 and only compute in `dtype`.
        dropout: Implementation of the random key that drives dropout; without it there is none.
        freeze: Train none of the convolutions.
    """
    model: Any = getattr(transformers, f"FlaxWav2Vec2For{head}")(
        config, input_shape=(1, length), _do_init=False, dtype=dtype
    )

    def run(params: Any, waves: jax.Array, masked: jax.Array, *rng: Any) -> Any:
        options: dict[str, Any] = {"freeze_feature_encoder": freeze}
        if rng:
            options |= {"dropout_rng": rng[0], "train": True}
        if head == "PreTraining":
            # The draw of codes asks for a key of its own, by another name than dropout's.
            options |= {"gumbel_rng": rng[0]} if rng else {}
            options["mask_time_indices"] = masked > 0
        return model(waves, params=params, **options)

    def loss(params: Any, state: Any, waves: Any, masked: Any, labels: Any, *rng: Any) -> Any:
        output = run(params, waves, masked, *rng)
        if head == "PreTraining":
            return contrastive_loss(output), state
        padding = jnp.zeros(output.logits.shape[:2])
        logits = output.logits.astype(jnp.float32)
        return optax.ctc_loss(logits, padding, labels, (labels == 0) * 1.0).mean(), state

    frames = length
    for kernel, stride in zip(config.conv_kernel, config.conv_stride, strict=True):
        frames = (frames - kernel) // stride + 1
    return Task(
        params=cast(abstract(model.params_shape_tree), jnp.float32 if mixed else dtype),
        state={},
        batch=(
            array(batch, length, dtype=dtype),
            array(batch, frames, dtype=jnp.int32),
            array(batch, 6, dtype=jnp.int32),
            *([key(dropout)] if dropout else []),
        ),
        forward=lambda params, state, waves, masked, labels, *_: run(
            params, waves, masked
        ).to_tuple(),
        loss=loss,
    )


WORDS: dict[str, dict[str, Any]] = {
    "adapter": {"add_adapter": True, "num_adapter_layers": 2},
    "bias": {"conv_bias": True},
}
"""Meaning of the words of a model's name for its configuration."""

PROGRAMS: dict[str, str] = {
    "ctc-l1-h32": "forward-b2-s160 train-adam-b2-s160",
    "ctc-l2-h32": "grad-b2-s160-mixed train-adamw-b2-s160-dropout-rbg loop-adam-b2-s160",
    "ctc-l2-h32-adapter": "train-lion-b2-s320 forward-b2-s320-bf16",
    "ctc-l4-h48-a6-bias": "train-adafactor-clip-b2-s160 train-sgdm-b2-s160-frozen",
    "ctc-l6-h32": "train-adamw-clip-cosine-b2-s160-frozen-mixed accumulate-adam-b2-s160",
    "contrast-l2-h32": "forward-b2-s160 grad-b2-s160 train-adam-b2-s160-dropout-threefry2x32",
    "contrast-l4-h32-bias": "train-lamb-b2-s160 train-adamw-b2-s160-dropout-rbg-frozen",
}
"""Task and model to variants; `s` counts samples."""


def recipes() -> Iterator[Recipe]:
    """Yields the programs of wav2vec 2.0."""
    marks = MARKS | {"frozen": {"freeze": True}}
    for model, variants in PROGRAMS.items():
        head, _, body = model.partition("-")
        name = {"ctc": "CTC", "contrast": "PreTraining"}[head]
        task = partial(wav2vec2_task, name, configured(body, wav2vec2, WORDS))
        yield from spelled("wav2vec2", model, f"FlaxWav2Vec2For{name}", task, variants, marks)
