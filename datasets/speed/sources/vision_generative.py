"""Models that make images: diffusion, autoencoders, super-resolution, radiance fields; mixers."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from recipe import Recipe, array, key
from sources.equinox_unet import diffusion_task, segmenter_task
from sources.flax_linen import convnet_task, mixer_task
from sources.flax_nnx import autoencoder_task
from sources.haiku_vqvae import residual_task
from tasks import Task, task_recipes

LIBRARY = "flax"

Row = tuple[str, str, str, Callable[[], Task], str]
"""Family, library, model, its task, and kinds of programs."""


class SubPixel(nn.Module):
    """Super-resolution: residual convolutions, then pixels from channels (Shi et al., 2016)."""

    blocks: int
    width: int
    scale: int

    @nn.compact
    def __call__(self, images: jax.Array) -> jax.Array:
        batch, height, width, channels = images.shape
        first = hidden = nn.Conv(self.width, (3, 3))(images)
        for _ in range(self.blocks):
            inner = nn.relu(nn.Conv(self.width, (3, 3))(hidden))
            hidden = hidden + 0.1 * nn.Conv(self.width, (3, 3))(inner)
        hidden = nn.Conv(channels * self.scale**2, (3, 3))(hidden + first)
        hidden = hidden.reshape(batch, height, width, self.scale, self.scale, channels)
        hidden = hidden.transpose(0, 1, 3, 2, 4, 5)
        return hidden.reshape(batch, self.scale * height, self.scale * width, channels)


class Field(nn.Module):
    """Radiance field: colour and density at a point seen from a direction (NeRF, 2020)."""

    width: int
    layers: int

    @nn.compact
    def __call__(self, points: jax.Array, directions: jax.Array) -> tuple[jax.Array, jax.Array]:
        hidden = encoded = waves(points, 10)
        for layer in range(self.layers):
            hidden = nn.relu(nn.Dense(self.width)(hidden))
            if layer == self.layers // 2:
                hidden = jnp.concatenate([hidden, encoded], axis=-1)
        density = nn.softplus(nn.Dense(1)(hidden))[..., 0]
        seen = jnp.concatenate([nn.Dense(self.width)(hidden), waves(directions, 4)], axis=-1)
        return nn.sigmoid(nn.Dense(3)(nn.relu(nn.Dense(self.width // 2)(seen)))), density


def waves(points: jax.Array, octaves: int) -> jax.Array:
    """Returns sines and cosines of coordinates at doubling frequencies."""
    angles = points[..., None, :] * 2.0 ** jnp.arange(octaves)[:, None]
    angles = angles.reshape(*points.shape[:-1], -1)
    return jnp.concatenate([points, jnp.sin(angles), jnp.cos(angles)], axis=-1)


def resolution_task(*, blocks: int, width: int, batch: int, size: int) -> Task:
    """Returns super-resolution by 2 of images of a size."""
    model = SubPixel(blocks, width, 2)
    small, large = array(batch, size, size, 3), array(batch, 2 * size, 2 * size, 3)

    def loss(params: Any, state: Any, small: jax.Array, large: jax.Array) -> Any:
        return jnp.abs(model.apply({"params": params}, small) - large).mean(), state

    return Task(
        params=jax.eval_shape(model.init, key(), small)["params"],
        state={},
        batch=(small, large),
        forward=lambda params, state, small, large: model.apply({"params": params}, small),
        loss=loss,
    )


def field_task(*, width: int, layers: int, rays: int, samples: int) -> Task:
    """Returns rendering of rays through a radiance field.

    Args:
        width: Width of the field's layers.
        layers: Its layers.
        rays: Rays in a batch.
        samples: Points on a ray, at random depths.
    """
    model = Field(width, layers)

    def render(params: Any, origins: jax.Array, directions: jax.Array, rng: jax.Array) -> jax.Array:
        shifts = jax.random.uniform(rng, (rays, samples))
        depths = 2.0 + 4.0 * (jnp.arange(samples) + shifts) / samples
        points = origins[:, None] + depths[..., None] * directions[:, None]
        towards = jnp.broadcast_to(directions[:, None], points.shape)
        colours, density = model.apply({"params": params}, points, towards)
        thickness = density * 4.0 / samples
        passed = jnp.exp(thickness - jnp.cumsum(thickness, axis=-1))
        weights = passed * (1 - jnp.exp(-thickness))
        return jnp.sum(weights[..., None] * colours, axis=1)

    def loss(params: Any, state: Any, *batch: jax.Array) -> Any:
        return jnp.mean((render(params, *batch[:-1]) - batch[-1]) ** 2), state

    point = array(rays, samples, 3)
    return Task(
        params=jax.eval_shape(model.init, key(), point, point)["params"],
        state={},
        batch=(array(rays, 3), array(rays, 3), key(), array(rays, 3)),
        forward=lambda params, state, *batch: render(params, *batch[:-1]),
        loss=loss,
    )


def recipes() -> Iterator[Recipe]:
    """Yields the programs; a model's name has its sizes."""
    equinox, flax, haiku = "equinox", "flax", "dm-haiku"
    noise = partial(partial, diffusion_task, attention=True)
    rows: list[Row] = [
        (
            "diffusion-unet",
            equinox,
            "w32-d3-b2-64px",
            noise(32, 3, batch=2, size=64),
            "forward train-adam",
        ),
        (
            "diffusion-unet",
            equinox,
            "sampler-w16-d2-b1-24px",
            noise(16, 2, batch=1, size=24, sampled=True),
            "forward",
        ),
        (
            "segmentation-unet",
            equinox,
            "w16-d3-96px",
            partial(segmenter_task, 16, 3, False, 96),
            "forward train-sgdm",
        ),
        (
            "vae",
            flax,
            "w32-z64-b16-64px",
            partial(autoencoder_task, 32, 64, batch=16, size=64, random="threefry2x32"),
            "forward train-adam",
        ),
        (
            "vqvae",
            haiku,
            "w64-c512-r2-b4-64px",
            partial(residual_task, 2, batch=4, ema=True, size=64, width=64, codes=512),
            "forward train-adam",
        ),
        (
            "super-resolution",
            flax,
            "b4-w32-b1-96px",
            partial(resolution_task, blocks=4, width=32, batch=1, size=96),
            "forward train-adam",
        ),
        (
            "nerf",
            flax,
            "w128-l6-r512-s32",
            partial(field_task, width=128, layers=6, rays=512, samples=32),
            "forward train-adam",
        ),
        (
            "mixer",
            flax,
            "l6-h192-b4-64px",
            partial(mixer_task, 4, 64, blocks=6, hidden=192),
            "forward train-adamw",
        ),
        (
            "mixer",
            flax,
            "scan-l8-h128-b2-96px",
            partial(mixer_task, 2, 96, blocks=8, hidden=128, scanned=True),
            "forward grad",
        ),
        (
            "cnn",
            flax,
            "w32x64x128-b8-64px",
            partial(convnet_task, 8, 64, (32, 64, 128)),
            "train-adam per-example-grad",
        ),
    ]
    for family, library, model, task, kinds in rows:
        name, words = f"{library.removeprefix('dm-')}-{model}", f"{family} of {library}, {model}"
        yield from task_recipes(family, library, name, words, task, {k: k for k in kinds.split()})
