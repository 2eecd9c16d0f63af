"""Encoder-decoders put together from other models of Hugging Face transformers (Flax).

Each counts to the family of the half that makes the text, but with BERT in it to `bert`, which is
held out whole.
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
from sources.transformers_audio import wav2vec2
from sources.transformers_bart import bart_like
from sources.transformers_bert import sized
from sources.transformers_clip import initialised
from sources.transformers_gpt2 import gpt2
from sources.transformers_images import patches
from tasks import Task, cross_entropy
from transformers_programs import configured, spelled


def halves(
    class_name: str, encoder: Any, decoder: Any, layers: int, hidden: int, heads: int
) -> transformers.PretrainedConfig:
    """Returns the configuration of an encoder-decoder, from those of its halves."""
    kind = getattr(transformers, class_name.removeprefix("Flax").replace("Model", "Config"))
    crossing: dict[str, Any] = {"is_decoder": True, "add_cross_attention": True}
    return kind.from_encoder_decoder_configs(
        encoder(layers, hidden, heads), decoder(layers, hidden, heads, **crossing)
    )


def described_task(
    class_name: str,
    source: tuple[int, ...],
    config: Any,
    *,
    batch: int,
    length: int,
    dtype: Any = jnp.float32,
    mixed: bool = False,
    dropout: str | None = None,
    policy: str | None = None,
) -> Task:
    """Returns the task of predicting a text of a length from a source.

    Args:
        class_name: A Flax class of transformers made of an encoder and a decoder.
        source: Shape of one source, with channels first for images.
        config: Configuration of both.
        batch: Pairs in a batch.
        length: Tokens of a text.
        dtype: Type of parameters and computation.
        mixed: Keep the parameters in float32 and only compute in `dtype`.
        dropout: Implementation of the random key that drives dropout; without it there is none.
        policy: What the backward pass need not recompute; without it nothing is recomputed.
    """
    shape = (*source[1:], source[0]) if len(source) == 3 else source
    model = initialised(class_name, config, ((1, *shape), (1, length)), dtype)
    kind = jnp.int32 if class_name == "FlaxEncoderDecoderModel" else dtype

    def logits(params: Any, given: jax.Array, target: jax.Array, *rng: Any) -> jax.Array:
        options: dict[str, Any] = {"dropout_rng": rng[0], "train": True} if rng else {}
        return model(given, decoder_input_ids=target, params=params, **options).logits

    def loss(params: Any, state: Any, given: Any, target: Any, *rng: Any) -> Any:
        scores = logits(params, given, target, *rng)
        return cross_entropy(scores[:, :-1], target[:, 1:]), state

    recomputed = policy and jax.checkpoint(loss, policy=getattr(jax.checkpoint_policies, policy))
    return Task(
        params=cast(abstract(model.params_shape_tree), jnp.float32 if mixed else dtype),
        state={},
        batch=(
            array(batch, *source, dtype=kind),
            array(batch, length, dtype=jnp.int32),
            *([key(dropout)] if dropout else []),
        ),
        forward=lambda params, state, given, target, *_: logits(params, given, target),
        loss=recomputed or loss,
    )


BERT = partial(sized, "Bert")
SPOKEN = "FlaxSpeechEncoderDecoderModel"
SEEN = "FlaxVisionEncoderDecoderModel"
READ = "FlaxEncoderDecoderModel"
PAIRS: dict[tuple[str, str], tuple[str, Any, Any, tuple[int, ...], dict[str, str]]] = {
    ("bert", "bert-to-bert"): (
        READ,
        BERT,
        BERT,
        (16,),
        {
            "l1-h32": "forward-b2-s8 train-adam-b2-s8",
            "l2-h32": "train-adamw-b2-s8-dropout-rbg grad-b2-s8-mixed",
            "l4-h32": "train-lamb-b2-s8 train-lion-clip-b2-s8-bf16",
        },
    ),
    ("bert", "bert-to-gpt2"): (
        READ,
        BERT,
        gpt2,
        (16,),
        {
            "l1-h32": "forward-b2-s8 train-adafactor-b2-s8",
            "l3-h32": "train-adamw-clip-b2-s8 loop-sgdm-b2-s8",
        },
    ),
    ("gpt2", "vit-to-gpt2"): (
        SEEN,
        partial(patches, "ViT", image_size=32),
        gpt2,
        (3, 32, 32),
        {
            "l1-h32": "forward-b2-s8 train-sgdm-b2-s8",
            "l2-h32": "train-adamw-b2-s8 grad-b2-s8-bf16 accumulate-adam-b2-s8",
            "l4-h32": "train-lion-clip-cosine-b2-s8-mixed",
        },
    ),
    ("bert", "beit-to-roberta"): (
        SEEN,
        partial(patches, "Beit", image_size=32, use_relative_position_bias=True),
        partial(sized, "Roberta"),
        (3, 32, 32),
        {"l2-h32": "forward-b2-s8 train-rmsprop-b2-s8", "l4-h32": "train-lamb-b2-s8-bf16"},
    ),
    ("bart", "wav2vec2-to-bart"): (
        SPOKEN,
        wav2vec2,
        partial(bart_like, "Bart"),
        (160,),
        {
            "l1-h32": "forward-b2-s8 train-adam-b2-s8",
            "l2-h32": "grad-b2-s8 train-adamw-clip-b2-s8-mixed",
            "l4-h32": "train-lamb-b2-s8 train-adafactor-b2-s8-recompute",
        },
    ),
    ("gpt2", "wav2vec2-to-gpt2"): (
        SPOKEN,
        wav2vec2,
        gpt2,
        (160,),
        {"l2-h32": "forward-b2-s8 train-adamw-cosine-b2-s8-dropout-rbg"},
    ),
}
"""Family and name to class, halves, shape of a source, and model to variants; `s` counts tokens."""


def recipes() -> Iterator[Recipe]:
    """Yields every encoder-decoder that is put together."""
    for (family, name), (class_name, encoder, decoder, source, programs) in PAIRS.items():
        for model, variants in programs.items():
            config = configured(model, partial(halves, class_name, encoder, decoder), {})
            task = partial(described_task, class_name, source, config)
            yield from spelled(family, f"{name}-{model}", class_name, task, variants)
