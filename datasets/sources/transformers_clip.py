"""CLIP of Hugging Face transformers (Flax), its halves, and dual encoders made like it."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
import transformers
from recipe import Recipe, abstract, array, cast, key
from sources.transformers_bert import contrastive_loss, sized
from sources.transformers_images import patches
from tasks import Task, cross_entropy
from transformers_programs import MARKS, configured, spelled


def initialised(class_name: str, config: Any, shapes: Any, dtype: Any) -> Any:
    """Returns a model that only knows how to start with weights, without any.

    Composite models refuse `_do_init=False`, so their initialisation is traced and thrown away.
    """
    models: list[Any] = []

    def build() -> int:
        made = getattr(transformers, class_name)(config, input_shape=shapes, dtype=dtype)
        models.append(made)
        return 0

    jax.eval_shape(build)
    return models[0]


def pairs_loss(logits: jax.Array) -> jax.Array:
    """Returns the loss of finding each text's image and each image's text."""
    scores, pairs = logits.astype(jnp.float32), jnp.arange(logits.shape[0])
    return (cross_entropy(scores, pairs) + cross_entropy(scores.T, pairs)) / 2


def sigmoid_loss(logits: jax.Array) -> jax.Array:
    """Returns the loss of telling for each pair on its own whether it belongs together."""
    scores = logits.astype(jnp.float32)
    return optax.sigmoid_binary_cross_entropy(scores, jnp.eye(scores.shape[0])).sum(-1).mean()


def clip(layers: int, hidden: int, heads: int, **options: Any) -> transformers.CLIPConfig:
    """Returns a small CLIP configuration."""
    encoder = {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "intermediate_size": 2 * hidden,
        **options,
    }
    text = {"vocab_size": 128, "max_position_embeddings": 32, "eos_token_id": 1, "bos_token_id": 0}
    return transformers.CLIPConfig(
        text_config={**encoder, **text},
        vision_config={**encoder, "image_size": 32, "patch_size": 8},
        projection_dim=hidden,
    )


def dual(layers: int, hidden: int, heads: int, image: str = "ViT", text: str = "Bert") -> Any:
    """Returns a small configuration of an image and a text encoder side by side."""
    if image == "CLIPVision":
        vision = clip(layers, hidden, heads).vision_config
    else:
        vision = patches(image, layers, hidden, heads, image_size=32)
    return transformers.VisionTextDualEncoderConfig.from_vision_text_configs(
        vision, sized(text, layers, hidden, heads), projection_dim=hidden
    )


def matching_task(
    class_name: str,
    config: Any,
    *,
    batch: int,
    length: int,
    dtype: Any = jnp.float32,
    mixed: bool = False,
    dropout: str | None = None,
    policy: str | None = None,
    loss: Callable[[jax.Array], jax.Array] = pairs_loss,
) -> Task:
    """Returns contrastive learning of images of 32 pixels and texts of a length."""
    shapes = ((1, length), (1, 32, 32, 3))
    model = initialised(class_name, config, shapes, dtype)

    def scores(params: Any, tokens: jax.Array, images: jax.Array, *rng: Any) -> jax.Array:
        options: dict[str, Any] = {"dropout_rng": rng[0], "train": True} if rng else {}
        return model(tokens, images, params=params, **options).logits_per_text

    def whole_loss(params: Any, state: Any, tokens: Any, images: Any, *rng: Any) -> Any:
        return loss(scores(params, tokens, images, *rng)), state

    recomputed = policy and jax.checkpoint(
        whole_loss, policy=getattr(jax.checkpoint_policies, policy)
    )
    return Task(
        params=cast(abstract(model.params_shape_tree), jnp.float32 if mixed else dtype),
        state={},
        batch=(
            array(batch, length, dtype=jnp.int32),
            array(batch, 3, 32, 32),
            *([key(dropout)] if dropout else []),
        ),
        forward=lambda params, state, tokens, images, *_: scores(params, tokens, images),
        loss=recomputed or whole_loss,
    )


def half_task(
    class_name: str, config: Any, *, batch: int, length: int, dtype: Any = jnp.float32
) -> Task:
    """Returns the task of telling examples apart by one half of CLIP; images have 32 pixels."""
    model: Any = getattr(transformers, class_name)(config, _do_init=False, dtype=dtype)
    text = "Text" in class_name
    example = array(batch, length, dtype=jnp.int32) if text else array(batch, 3, 32, 32)
    return Task(
        params=cast(abstract(model.params_shape_tree), dtype),
        state={},
        batch=(example, array(batch, dtype=jnp.int32)),
        forward=lambda params, state, example, labels: model(example, params=params).to_tuple(),
        loss=lambda params, state, example, labels: (
            contrastive_loss(model(example, params=params), labels),
            state,
        ),
    )


WORDS: dict[str, dict[str, Any]] = {
    "gelu": {"hidden_act": "gelu"},
    "roberta": {"text": "Roberta"},
    "clipvision": {"image": "CLIPVision"},
}
"""Meaning of the words of a model's name for its configuration."""

CLIP: dict[str, str] = {
    "l1-h32-p8": "train-sgd-b4-s12 grad-b4-s12-bf16 hvp-b2-s12",
    "l2-h32-p8": "train-adamw-clip-cosine-b4-s12 loop-adam-b4-s12 train-lion-b4-s12-sigmoid",
    "l2-h48-a6-gelu-p8": "train-lamb-b4-s12-mixed accumulate-sgdm-b4-s12 remat-grad-b4-s12",
    "l4-h32-p8": "train-adafactor-b4-s12 train-adamw-b4-s12-recompute forward-b4-s12-bf16",
    "l6-h32-gelu-p8": "train-rmsprop-b2-s12-bf16-sigmoid",
    "dual-l1-h32": "forward-b4-s12 train-adam-b4-s12",
    "dual-l2-h32-roberta": "grad-b4-s12 train-adamw-b4-s12-mixed-sigmoid",
    "dual-l2-h32-clipvision": "train-lion-b4-s12 forward-b4-s12-bf16",
    "dual-l4-h32": "train-lamb-clip-b4-s12-dropout-rbg",
}
"""CLIP and dual encoders: model to variants; `s` counts tokens."""

HALVES: dict[str, str] = {
    "text": "forward-b4-s12 train-adam-b4-s12 grad-b4-s24-bf16",
    "vision": "forward-b4-s12 train-lion-b4-s12",
}
"""CLIP's text or vision encoder alone."""


def recipes() -> Iterator[Recipe]:
    """Yields CLIP, its halves and dual encoders."""
    marks = MARKS | {"sigmoid": {"loss": sigmoid_loss}}
    for model, variants in CLIP.items():
        class_name = "FlaxVisionTextDualEncoderModel" if "dual" in model else "FlaxCLIPModel"
        body = model.removeprefix("dual-").removesuffix("-p8")
        config = configured(body, dual if "dual" in model else clip, WORDS)
        task = partial(matching_task, class_name, config)
        # Their text encoder is BERT's, and that family is held out whole.
        family = "bert" if "dual" in model else "clip"
        yield from spelled(family, model, class_name, task, variants, marks)
    for half, variants in HALVES.items():
        class_name = f"FlaxCLIP{half.title()}Model"
        task = partial(half_task, class_name, getattr(clip(3, 32, 4), f"{half}_config"))
        yield from spelled("clip", f"{half}-l3-h32", class_name, task, variants)
