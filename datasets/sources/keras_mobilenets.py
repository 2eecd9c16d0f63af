"""Narrow MobileNets of keras.applications, with which the corpus began."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import keras
from recipe import Recipe
from sources.keras_applications import LIBRARY, application, classification_task, unallocated
from tasks import Task, task_recipes


def mobilenet_task(build: Callable[[], keras.Model], batch: int) -> Task:
    """Returns the task of a MobileNet without values."""
    return classification_task(unallocated(build), batch=batch)


def separable(blocks: int, width: int, size: int) -> keras.Model:
    """Returns a short MobileNet: the same depthwise-separable blocks, fewer of them.

    Args:
        blocks: Depthwise-separable blocks.
        width: Channels of the first layer; they double at every second block.
        size: Height and width of an image.
    """
    layers = keras.layers
    images = keras.Input((size, size, 3))
    hidden = layers.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(images)
    for block in range(blocks):
        hidden = layers.DepthwiseConv2D(3, strides=1 + block % 2, padding="same")(hidden)
        hidden = layers.ReLU(6.0)(layers.BatchNormalization()(hidden))
        hidden = layers.Conv2D(width * 2 ** ((block + 1) // 2), 1, use_bias=False)(hidden)
        hidden = layers.ReLU(6.0)(layers.BatchNormalization()(hidden))
    logits = layers.Dense(10)(layers.GlobalAveragePooling2D()(hidden))
    return keras.Model(images, logits)


def recipes() -> Iterator[Recipe]:
    """Yields the narrow MobileNets."""
    models: list[tuple[str, str, Callable[[], keras.Model], int, tuple[str, ...]]] = [
        # Model, description, how it is made, batch, programs.
        (
            "short-l2-w8",
            "Two depthwise-separable blocks of keras.layers, width 8, 32 px",
            partial(separable, 2, 8, 32),
            2,
            ("train-sgdm",),
        ),
        (
            "v1-a0.25",
            "keras.applications.MobileNet alpha 0.25, 32 px",
            partial(application, "MobileNet", 32, alpha=0.25),
            2,
            ("forward", "grad"),
        ),
        (
            "v2-a0.35",
            "keras.applications.MobileNetV2 alpha 0.35, 32 px",
            partial(application, "MobileNetV2", 32, alpha=0.35),
            2,
            ("forward", "train-rmsprop"),
        ),
        (
            "v3-small-a0.75",
            "keras.applications.MobileNetV3Small alpha 0.75, 64 px",
            partial(application, "MobileNetV3Small", 64, alpha=0.75),
            1,
            ("forward",),
        ),
    ]
    for model, description, build, batch, kinds in models:
        words = f"{description}, batch {batch}"
        named = {f"{kind}-b{batch}": kind for kind in kinds}
        task = partial(mobilenet_task, build, batch)
        yield from task_recipes("mobilenet", LIBRARY, model, words, task, named)
