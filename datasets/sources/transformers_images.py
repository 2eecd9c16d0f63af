"""Image classifiers of Hugging Face transformers (Flax): ViT and its kin, ResNet, RegNet.

DINOv2 and BEiT are of ViT's family: the same blocks, with scaled residuals, gated units or
relative positions.
"""

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
from tasks import Task, cross_entropy
from transformers_programs import MARKS, configured, masked_token_loss, spelled

Loss = Callable[[jax.Array, jax.Array], jax.Array]


def smoothed_loss(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Returns the cross entropy against labels smoothed by a tenth."""
    targets = optax.smooth_labels(jax.nn.one_hot(labels, logits.shape[-1]), 0.1)
    return optax.softmax_cross_entropy(logits.astype(jnp.float32), targets).mean()


def focal_loss(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Returns the focal loss of one classifier for each class."""
    targets = jax.nn.one_hot(labels, logits.shape[-1])
    return optax.sigmoid_focal_loss(logits.astype(jnp.float32), targets, alpha=0.25).mean()


def poly_loss(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Returns the cross entropy with its first term weighted anew (poly loss)."""
    targets = jax.nn.one_hot(labels, logits.shape[-1])
    return optax.losses.poly_loss_cross_entropy(logits.astype(jnp.float32), targets).mean()


LOSSES: dict[str, dict[str, Any]] = {
    "smooth": {"loss": smoothed_loss},
    "focal": {"loss": focal_loss},
    "poly": {"loss": poly_loss},
}
"""Meaning of the words for losses, at the end of a variant, for a task."""


def patches(
    kind: str, layers: int, hidden: int, heads: int, **options: Any
) -> transformers.PretrainedConfig:
    """Returns a small configuration of ViT or of a model built like it, for patches of 8 pixels."""
    sizes: dict[str, Any] = {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "patch_size": 8,
    }
    sizes |= {"mlp_ratio": 2} if kind == "Dinov2" else {"intermediate_size": 2 * hidden}
    sizes |= {"vocab_size": 64} if kind == "Beit" else {}
    config = getattr(transformers, f"{kind}Config")(**{**sizes, **options})
    config.num_labels = 10
    return config


def patch_task(
    class_name: str,
    configuration: Callable[..., transformers.PretrainedConfig],
    *,
    batch: int,
    length: int,
    loss: Loss | None = None,
    dtype: Any = jnp.float32,
    mixed: bool = False,
    dropout: str | None = None,
    policy: str | None = None,
) -> Task:
    """Returns image classification, or the reconstruction of masked patches (BEiT).

    Args:
        class_name: A Flax class of transformers whose output has logits.
        configuration: Takes the size of the images.
        batch: Images in a batch.
        length: Height and width of an image.
        loss: Takes logits and labels; cross entropy by default.
        dtype: Type of parameters and computation.
        mixed: Keep the parameters in float32 and only compute in `dtype`.
        dropout: Implementation of the random key that drives dropout; without it there is none.
        policy: What the backward pass need not recompute; without it nothing is recomputed.
    """
    model: Any = getattr(transformers, class_name)(
        configuration(image_size=length), _do_init=False, dtype=dtype
    )
    masked = class_name.endswith("MaskedImageModeling")
    chosen = loss or (masked_token_loss if masked else cross_entropy)

    def logits(params: Any, images: jax.Array, labels: jax.Array, *rng: jax.Array) -> jax.Array:
        options: dict[str, Any] = {"dropout_rng": rng[0], "train": True} if rng else {}
        if masked:
            options["bool_masked_pos"] = labels >= 0
        return model(images, params=params, **options).logits

    def whole_loss(params: Any, state: Any, images: Any, labels: Any, *rng: Any) -> Any:
        return chosen(logits(params, images, labels, *rng), labels), state

    recomputed = policy and jax.checkpoint(
        whole_loss, policy=getattr(jax.checkpoint_policies, policy)
    )
    labels = (batch, (length // 8) ** 2) if masked else (batch,)
    return Task(
        params=cast(abstract(model.params_shape_tree), jnp.float32 if mixed else dtype),
        state={},
        batch=(
            array(batch, 3, length, length),
            array(*labels, dtype=jnp.int32),
            *([key(dropout)] if dropout else []),
        ),
        forward=lambda params, state, images, labels, *_: logits(params, images, labels),
        loss=recomputed or whole_loss,
    )


def convolution_task(
    class_name: str,
    config: transformers.PretrainedConfig,
    *,
    batch: int,
    length: int,
    loss: Loss = cross_entropy,
    dtype: Any = jnp.float32,
    policy: str | None = None,
) -> Task:
    """Returns image classification by convolutions, with the statistics of batches as state."""
    config.num_labels = 10
    model: Any = getattr(transformers, class_name)(
        config, input_shape=(1, length, length, 3), _do_init=False, dtype=dtype
    )
    variables = abstract(model.params_shape_tree)

    def whole_loss(params: Any, state: Any, images: jax.Array, labels: jax.Array) -> Any:
        collections = {"params": params, "batch_stats": state}
        output, updated = model(images, params=collections, train=True)
        return loss(output.logits, labels), updated["batch_stats"]

    recomputed = policy and jax.checkpoint(
        whole_loss, policy=getattr(jax.checkpoint_policies, policy)
    )
    return Task(
        params=variables["params"],
        state=variables["batch_stats"],
        batch=(array(batch, 3, length, length), array(batch, dtype=jnp.int32)),
        forward=lambda params, state, images, labels: (
            model(images, params={"params": params, "batch_stats": state}).logits
        ),
        loss=recomputed or whole_loss,
    )


DROP = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
WORDS: dict[str, dict[str, Any]] = {
    "relu": {"hidden_act": "relu"},
    "drop": DROP,
    "nobias": {"qkv_bias": False},
    "swiglu": {"use_swiglu_ffn": True},
    "droppath": {"drop_path_rate": 0.2},
    "absolute": {"use_absolute_position_embeddings": True},
    "relative": {"use_relative_position_bias": True},
    "shared": {"use_shared_relative_position_bias": True},
    "firsttoken": {"use_mean_pooling": False},
    "masktoken": {"use_mask_token": True},
}
"""Meaning of the words of a model's name for its configuration."""

PATCHES: dict[tuple[str, str, str], dict[str, str]] = {
    ("ViT", "", "ForImageClassification"): {
        "l1-h32": "train-sgd-b2-s16 hvp-b2-s16 per-example-grad-b4-s16",
        "l2-h32-relu": "train-adam-b2-s32-smooth grad-b2-s32-mixed",
        "l3-h48-a6-nobias": "train-lion-clip-b2-s32 accumulate-adamw-b2-s32",
        "l4-h32": "train-adafactor-b2-s32-focal loop-sgdm-b2-s32 remat-grad-b2-s32",
        "l6-h32-drop": "train-adamw-clip-cosine-b2-s32-dropout-threefry2x32",
        "l8-h32": "train-lamb-b2-s32-bf16 train-rmsprop-b2-s32-recompute-all-but-products",
        "l12-h48-a3": "train-adamw-clip-b2-s32-mixed forward-b2-s64 train-nesterov-b2-s32-poly",
    },
    ("Dinov2", "dinov2-", "ForImageClassification"): {
        "l1-h32": "forward-b2-s16 train-adam-b2-s32",
        "l2-h32-swiglu": "grad-b2-s32 train-adamw-b2-s32-smooth",
        "l2-h32-droppath": "train-sgdm-b2-s32-dropout-threefry2x32",
        "l4-h32-swiglu-drop": "train-lion-b2-s32-dropout-rbg forward-b2-s32-bf16",
        "l6-h48-a6-nobias": "train-adafactor-b2-s32-mixed accumulate-adam-b2-s32",
        "l12-h32": "train-lamb-cosine-b1-s32-bf16 forward-b1-s64",
    },
    ("Beit", "beit-", "ForImageClassification"): {
        "l1-h32": "forward-b2-s16 train-adam-b2-s32",
        "l2-h32-relative": "grad-b2-s32 train-adamw-b2-s32 forward-b2-s32-bf16",
        "l3-h32-shared-firsttoken": "train-lion-b2-s32-mixed loop-adam-b2-s32",
        "l4-h48-a6-absolute": "train-lamb-b2-s32-dropout-rbg remat-grad-b2-s32",
        "l6-h32-relative-relu": "train-adafactor-clip-b2-s32-recompute",
        "l12-h32-shared": "train-adamw-cosine-b1-s32-bf16",
    },
    ("Beit", "beit-masked-", "ForMaskedImageModeling"): {
        "l2-h32-relative-masktoken": "train-adamw-clip-b2-s32 grad-b2-s32-mixed",
        "l4-h32-absolute-masktoken": "train-rmsprop-b2-s32-dropout-threefry2x32",
    },
}
"""Kind, prefix of the models' names and head to model to variants; `s` is an image's size."""

RESIDUAL: dict[str, tuple[str, tuple[int, ...], str, str]] = {
    "basic-1x2": ("ResNet", (1, 2), "basic", "train-adam-b2-s32 forward-b2-s32-bf16"),
    "basic-2x2x2x2": ("ResNet", (2, 2, 2, 2), "basic", "loop-sgdm-b2-s32 forward-b2-s32"),
    "basic-3x4x6x3": ("ResNet", (3, 4, 6, 3), "basic", "train-lion-b2-s32-bf16"),
    "bottleneck-1x1x1": ("ResNet", (1, 1, 1), "bottleneck", "train-lamb-b2-s32 hvp-b2-s32"),
    "bottleneck-2x2": ("ResNet", (2, 2), "bottleneck", "accumulate-nesterov-b2-s32-smooth"),
    "bottleneck-3x4x6x3": (
        "ResNet",
        (3, 4, 6, 3),
        "bottleneck",
        "train-sgdm-b2-s32 forward-b2-s64",
    ),
    "bottleneck-3x4x23x3": ("ResNet", (3, 4, 23, 3), "bottleneck", "train-nesterov-cosine-b1-s32"),
    "y-1x1": ("RegNet", (1, 1), "y", "forward-b2-s32-bf16 grad-b2-s32 train-adamw-b2-s32-focal"),
    "y-1x2x2": ("RegNet", (1, 2, 2), "y", "train-rmsprop-b2-s32 accumulate-adam-b2-s32"),
    "y-1x2x3": ("RegNet", (1, 2, 3), "y", "train-lion-b2-s32-bf16 loop-sgd-b2-s32"),
    "y-2x2x4x2": ("RegNet", (2, 2, 4, 2), "y", "train-adafactor-clip-b2-s32-recompute"),
    "y-2x5x14x2": ("RegNet", (2, 5, 14, 2), "y", "train-nesterov-cosine-b2-s32 forward-b2-s64"),
}
"""Model to kind, blocks in each stage, kind of block, and variants."""


def recipes() -> Iterator[Recipe]:
    """Yields every image classifier of this file."""
    for (kind, prefix, head), programs in PATCHES.items():
        class_name = f"Flax{kind}{head}"
        for model, variants in programs.items():

            def sized(kind: str = kind, model: str = model, **size: int) -> Any:
                return configured(model, partial(patches, kind, **size), WORDS)

            task = partial(patch_task, class_name, sized)
            name = f"{prefix}{model}-p8"
            yield from spelled("vit", name, class_name, task, variants, MARKS | LOSSES)
    for model, (kind, depths, layer, variants) in RESIDUAL.items():
        class_name = f"Flax{kind}ForImageClassification"
        widths = [8 * 2**stage for stage in range(len(depths))]
        more = {"groups_width": 4} if kind == "RegNet" else {}
        config = getattr(transformers, f"{kind}Config")(
            embedding_size=8, hidden_sizes=widths, depths=list(depths), layer_type=layer, **more
        )
        task = partial(convolution_task, class_name, config)
        yield from spelled(kind.lower(), model, class_name, task, variants, MARKS | LOSSES)
