"""Vision models of Hugging Face transformers (Flax classes): ResNet, ViT and CLIP."""

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
from tasks import Task, cross_entropy, task_recipes

LIBRARY = "transformers"


def resnet_task(
    depths: tuple[int, ...], *, layer_type: str, batch: int, size: int, dtype: Any = jnp.float32
) -> Task:
    """Returns image classification with a residual network in training mode.

    Args:
        depths: Blocks in each stage.
        layer_type: `basic` or `bottleneck`.
        batch: Images in a batch.
        size: Height and width of an image.
        dtype: Type of the computation; parameters stay float32.
    """
    config = transformers.ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8 * 2**stage for stage in range(len(depths))],
        depths=list(depths),
        layer_type=layer_type,
        num_labels=10,
    )
    model: Any = transformers.FlaxResNetForImageClassification(
        config, input_shape=(1, size, size, 3), _do_init=False, dtype=dtype
    )
    variables = abstract(model.params_shape_tree)

    def loss(params: Any, state: Any, images: jax.Array, labels: jax.Array) -> Any:
        collections = {"params": params, "batch_stats": state}
        output, updated = model(images, params=collections, train=True)
        return cross_entropy(output.logits, labels), updated["batch_stats"]

    return Task(
        params=variables["params"],
        state=variables["batch_stats"],
        batch=(array(batch, 3, size, size), array(batch, dtype=jnp.int32)),
        forward=lambda params, state, images, labels: (
            model(images, params={"params": params, "batch_stats": state}).logits
        ),
        loss=loss,
    )


def vit_task(
    layers: int,
    hidden: int,
    *,
    batch: int,
    size: int = 16,
    patch: int = 4,
    dtype: Any = jnp.float32,
    dropout: str | None = None,
) -> Task:
    """Returns image classification with a vision transformer.

    Args:
        layers: Transformer layers.
        hidden: Width of a token.
        batch: Images in a batch.
        size: Height and width of an image.
        patch: Height and width of a patch.
        dtype: Type of parameters and computation.
        dropout: Implementation of the random key that drives dropout; without it there is none.
    """
    config = transformers.ViTConfig(
        num_hidden_layers=layers,
        hidden_size=hidden,
        num_attention_heads=4,
        intermediate_size=4 * hidden,
        image_size=size,
        patch_size=patch,
        num_labels=10,
        hidden_dropout_prob=0.1,
    )
    model: Any = transformers.FlaxViTForImageClassification(config, _do_init=False, dtype=dtype)

    def logits(params: Any, images: jax.Array, *rng: jax.Array) -> jax.Array:
        options = {"dropout_rng": rng[0], "train": True} if rng else {}
        return model(images, params=params, **options).logits

    return Task(
        params=cast(abstract(model.params_shape_tree), dtype),
        state={},
        batch=(
            array(batch, 3, size, size),
            array(batch, dtype=jnp.int32),
            *([key(dropout)] if dropout else []),
        ),
        forward=lambda params, state, images, labels, *_: logits(params, images),
        loss=lambda params, state, images, labels, *rng: (
            cross_entropy(logits(params, images, *rng), labels),
            state,
        ),
    )


def clip_task(layers: int, hidden: int, *, batch: int, dtype: Any = jnp.float32) -> Task:
    """Returns contrastive learning of images and texts.

    Args:
        layers: Layers of each of the two encoders.
        hidden: Width of both.
        batch: Pairs in a batch.
        dtype: Type of parameters and computation.
    """
    encoder = {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": 4,
        "intermediate_size": 2 * hidden,
    }
    config = transformers.CLIPConfig(
        text_config={**encoder, "vocab_size": 128, "max_position_embeddings": 16},
        vision_config={**encoder, "image_size": 16, "patch_size": 4},
        projection_dim=hidden,
    )
    model: Any = transformers.FlaxCLIPModel(config, _do_init=False, dtype=dtype)

    def similarity(params: Any, tokens: jax.Array, images: jax.Array) -> jax.Array:
        return model(tokens, images, params=params).logits_per_text

    def loss(params: Any, state: Any, tokens: jax.Array, images: jax.Array) -> Any:
        logits = similarity(params, tokens, images).astype(jnp.float32)
        pairs = jnp.arange(batch)
        entropy = optax.softmax_cross_entropy_with_integer_labels
        return (entropy(logits, pairs) + entropy(logits.T, pairs)).mean() / 2, state

    return Task(
        params=cast(abstract(model.params_shape_tree), dtype),
        state={},
        batch=(array(batch, 12, dtype=jnp.int32), array(batch, 3, 16, 16)),
        forward=lambda params, state, tokens, images: similarity(params, tokens, images),
        loss=loss,
    )


def recipes() -> Iterator[Recipe]:
    """Yields every vision recipe of this library."""
    bf16 = jnp.bfloat16
    models: list[tuple[str, str, str, Callable[[], Task], dict[str, str]]] = [
        (
            "resnet",
            "basic-1x1",
            "FlaxResNetForImageClassification basic, depths 1-1, 16 px, batch 2",
            partial(resnet_task, (1, 1), layer_type="basic", batch=2, size=16),
            {"forward-b2": "forward", "train-sgdm-b2": "train-sgdm"},
        ),
        (
            "resnet",
            "bottleneck-1x1-bf16",
            "FlaxResNetForImageClassification bottleneck, depths 1-1, 32 px, batch 4, bfloat16",
            partial(resnet_task, (1, 1), layer_type="bottleneck", batch=4, size=32, dtype=bf16),
            {"forward-b4": "forward", "train-nesterov-b4": "train-nesterov"},
        ),
        (
            "resnet",
            "basic-2x2x2x2",
            "FlaxResNetForImageClassification basic, depths 2-2-2-2 (ResNet-18), 32 px, batch 2",
            partial(resnet_task, (2, 2, 2, 2), layer_type="basic", batch=2, size=32),
            {"train-adamw-b2": "train-adamw"},
        ),
        (
            "vit",
            "l1-h32-p4",
            "FlaxViTForImageClassification l1 h32, 16 px, patch 4, batch 2",
            partial(vit_task, 1, 32, batch=2),
            {"forward-b2": "forward", "train-lion-b2": "train-lion"},
        ),
        (
            "vit",
            "l2-h48-p8-bf16",
            "FlaxViTForImageClassification l2 h48, 32 px, patch 8, batch 4, bfloat16",
            partial(vit_task, 2, 48, batch=4, size=32, patch=8, dtype=bf16),
            {"forward-b4": "forward", "grad-b4": "grad"},
        ),
        (
            "vit",
            "l2-h32-p4",
            "FlaxViTForImageClassification l2 h32, 16 px, patch 4, batch 2, dropout from rbg",
            partial(vit_task, 2, 32, batch=2, dropout="rbg"),
            {"train-adamw-clip-b2-dropout-rbg": "train-adamw-clip"},
        ),
        (
            "clip",
            "l1-h32",
            "FlaxCLIPModel l1 h32, 16 px, patch 4, 12 tokens, batch 4",
            partial(clip_task, 1, 32, batch=4),
            {"forward-b4": "forward", "train-adam-b4": "train-adam"},
        ),
    ]
    for family, model, description, task, kinds in models:
        yield from task_recipes(family, LIBRARY, model, description, task, kinds)
