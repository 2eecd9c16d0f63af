"""MobileNets of keras.applications on the JAX backend, a library that training never sees."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import keras
from recipes import Recipe, Task, abstract, array, cross_entropy, task_recipes

LIBRARY = "keras"


def classification_task(model: keras.Model, *, batch: int) -> Task:
    """Returns image classification with a Keras model, through its stateless call.

    Args:
        model: A built model; its weights are used for their shapes only.
        batch: Images in a batch.
    """
    params = abstract([variable.value for variable in model.trainable_variables])
    state = abstract([variable.value for variable in model.non_trainable_variables])

    def forward(params: Any, state: Any, images: jax.Array, labels: jax.Array) -> jax.Array:
        return model.stateless_call(params, state, images, training=False)[0]

    def loss(params: Any, state: Any, images: jax.Array, labels: jax.Array) -> Any:
        logits, state, *_ = model.stateless_call(params, state, images, training=True)
        return cross_entropy(logits, labels), state

    images = array(batch, *model.input_shape[1:])
    return Task(params, state, (images, array(batch, dtype=jnp.int32)), forward, loss)


def application_task(name: str, *, batch: int, size: int, alpha: float) -> Task:
    """Returns the task of one of `keras.applications`, without pretrained weights.

    Args:
        name: Name of the application.
        batch: Images in a batch.
        size: Height and width of an image.
        alpha: Factor on the width of every layer.
    """
    model = getattr(keras.applications, name)(
        input_shape=(size, size, 3),
        alpha=alpha,
        weights=None,
        classes=10,
        classifier_activation=None,
    )
    return classification_task(model, batch=batch)


def separable_task(blocks: int, width: int, *, batch: int, size: int) -> Task:
    """Returns a short MobileNet: the same depthwise-separable blocks, fewer of them.

    Args:
        blocks: Depthwise-separable blocks.
        width: Channels of the first layer; they double at every second block.
        batch: Images in a batch.
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
    return classification_task(keras.Model(images, logits), batch=batch)


def recipes() -> Iterator[Recipe]:
    """Yields every Keras recipe."""
    models: list[tuple[str, str, Callable[[], Task], dict[str, str]]] = [
        (
            "short-l2-w8",
            "Two depthwise-separable blocks of keras.layers, width 8, 32 px, batch 2",
            partial(separable_task, 2, 8, batch=2, size=32),
            {"train-sgdm-b2": "train-sgdm"},
        ),
        (
            "v1-a0.25",
            "keras.applications.MobileNet alpha 0.25, 32 px, batch 2",
            partial(application_task, "MobileNet", batch=2, size=32, alpha=0.25),
            {"forward-b2": "forward", "grad-b2": "grad"},
        ),
        (
            "v2-a0.35",
            "keras.applications.MobileNetV2 alpha 0.35, 32 px, batch 2",
            partial(application_task, "MobileNetV2", batch=2, size=32, alpha=0.35),
            {"forward-b2": "forward", "train-rmsprop-b2": "train-rmsprop"},
        ),
        (
            "v3-small-a0.75",
            "keras.applications.MobileNetV3Small alpha 0.75, 64 px, batch 1",
            partial(application_task, "MobileNetV3Small", batch=1, size=64, alpha=0.75),
            {"forward-b1": "forward"},
        ),
    ]
    for model, description, task, kinds in models:
        yield from task_recipes("mobilenet", LIBRARY, model, description, task, kinds)
