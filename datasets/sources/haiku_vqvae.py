"""Image compression with the vector quantisers of dm-haiku between convolutions."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
from recipe import Recipe, array, key
from sources.haiku_images import LIBRARY, Row, model_recipes
from tasks import Task, task_recipes

SIZE = 16
WIDTH = 16


def compression_task(network: Callable[..., Any], batch: int, size: int = SIZE) -> Task:
    """Returns reconstruction by a network that gives images and the quantiser's loss."""
    model = hk.transform_with_state(network)
    images = array(batch, size, size, 3)
    params, state = jax.eval_shape(partial(model.init, is_training=True), key(), images)

    def forward(params: Any, state: Any, images: jax.Array) -> jax.Array:
        return model.apply(params, state, None, images, is_training=False)[0][0]

    def loss(params: Any, state: Any, images: jax.Array) -> Any:
        (decoded, extra), state = model.apply(params, state, None, images, is_training=True)
        return jnp.mean((decoded - images) ** 2) + extra, state

    return Task(params, state, (images,), forward, loss)


def plain_task(codes: int, *, batch: int) -> Task:
    """Returns compression with a codebook of moving averages between plain convolutions."""

    def network(images: jax.Array, is_training: bool) -> Any:
        hidden = jax.nn.relu(hk.Conv2D(WIDTH, 4, stride=2)(images))
        hidden = hk.Conv2D(WIDTH, 3)(hidden)
        quantiser = hk.nets.VectorQuantizerEMA(WIDTH, codes, commitment_cost=0.25, decay=0.99)
        found = quantiser(hidden, is_training=is_training)
        hidden = jax.nn.relu(hk.Conv2D(WIDTH, 3)(found["quantize"]))
        return hk.Conv2DTranspose(3, 4, stride=2)(hidden), found["loss"]

    return compression_task(network, batch)


def residual_task(
    blocks: int, *, batch: int, ema: bool, size: int = SIZE, width: int = WIDTH, codes: int = 24
) -> Task:
    """Returns compression with residual blocks around the quantiser.

    Args:
        blocks: Residual blocks on either side.
        batch: Images in a batch.
        ema: Learn the codebook by moving averages in place of gradients.
        size: Height and width of an image.
        width: Channels.
        codes: Vectors of the codebook.
    """

    def refine(hidden: jax.Array) -> jax.Array:
        for _ in range(blocks):
            inner = jax.nn.relu(hk.Conv2D(width // 2, 3)(jax.nn.relu(hidden)))
            hidden = hidden + hk.Conv2D(width, 1)(inner)
        return jax.nn.relu(hidden)

    def network(images: jax.Array, is_training: bool) -> Any:
        hidden = refine(hk.Conv2D(width, 4, stride=2)(images))
        hidden = hk.Conv2D(width, 1)(hidden)
        if ema:
            quantiser = hk.nets.VectorQuantizerEMA(width, codes, commitment_cost=0.25, decay=0.99)
        else:
            quantiser = hk.nets.VectorQuantizer(width, codes, commitment_cost=0.25)
        found = quantiser(hidden, is_training=is_training)
        hidden = refine(hk.Conv2D(width, 3)(found["quantize"]))
        return hk.Conv2DTranspose(3, 4, stride=2)(hidden), found["loss"]

    return compression_task(network, batch, size)


def recipes() -> Iterator[Recipe]:
    """Yields the compression of images."""
    yield from task_recipes(
        "vqvae",
        LIBRARY,
        "c32",
        "hk.nets.VectorQuantizerEMA 32 codes, 16 px, batch 4",
        partial(plain_task, 32, batch=4),
        {"grad-b4": "grad", "train-adam-b4": "train-adam"},
    )
    gradient = partial(residual_task, 1, batch=2, ema=False)
    averages = partial(residual_task, 2, batch=2, ema=True)
    rows: list[Row] = [
        ("vqvae", "gradient-r1", gradient, "forward train-adam"),
        ("vqvae", "ema-r2", averages, "forward train-adamw loop-adam"),
    ]
    yield from model_recipes(rows)
