"""U-Net of equinox's modules: as a diffusion model, its sampler, and for segmentation."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from recipe import Recipe, array, key
from sources.equinox_models import LIBRARY, Row, model_recipes, split, task_of
from tasks import Task, task_recipes

NOISE_LEVELS = 50


class ResidualBlock(eqx.Module):
    """Two convolutions with group norms and the noise level added between them."""

    norms: list[eqx.nn.GroupNorm]
    convolutions: list[eqx.nn.Conv2d]
    level: eqx.nn.Linear
    shortcut: eqx.nn.Conv2d

    def __init__(self, inputs: int, outputs: int, embedding: int, rng: jax.Array) -> None:
        rngs = jax.random.split(rng, 4)
        self.norms = [eqx.nn.GroupNorm(4, inputs), eqx.nn.GroupNorm(4, outputs)]
        self.convolutions = [
            eqx.nn.Conv2d(inputs, outputs, 3, padding=1, key=rngs[0]),
            eqx.nn.Conv2d(outputs, outputs, 3, padding=1, key=rngs[1]),
        ]
        self.level = eqx.nn.Linear(embedding, outputs, key=rngs[2])
        self.shortcut = eqx.nn.Conv2d(inputs, outputs, 1, key=rngs[3])

    def __call__(self, image: jax.Array, embedding: jax.Array) -> jax.Array:
        hidden = self.convolutions[0](jax.nn.silu(self.norms[0](image)))
        hidden = hidden + self.level(jax.nn.silu(embedding))[:, None, None]
        hidden = self.convolutions[1](jax.nn.silu(self.norms[1](hidden)))
        return hidden + self.shortcut(image)


class UNet(eqx.Module):
    """U-Net that predicts the noise in an image (Ho et al., diffusion models, 2020)."""

    embed: eqx.nn.MLP
    first: eqx.nn.Conv2d
    down: list[ResidualBlock]
    middle: ResidualBlock
    attention: eqx.nn.MultiheadAttention | None
    up: list[ResidualBlock]
    last: eqx.nn.Conv2d
    pool: eqx.nn.AvgPool2d = eqx.field(static=True)

    def __init__(self, width: int, depth: int, attention: bool, rng: jax.Array) -> None:
        rngs = iter(jax.random.split(rng, 2 * depth + 5))
        widths = [width * 2**level for level in range(depth)]
        ends = [*widths[1:], widths[-1]]
        self.embed = eqx.nn.MLP(width, width, 2 * width, 1, jax.nn.silu, key=next(rngs))
        self.first = eqx.nn.Conv2d(1, width, 3, padding=1, key=next(rngs))
        self.down = [
            ResidualBlock(inputs, outputs, width, next(rngs))
            for inputs, outputs in zip(widths, ends, strict=True)
        ]
        self.middle = ResidualBlock(ends[-1], ends[-1], width, next(rngs))
        heads = {"num_heads": 2, "query_size": ends[-1]}
        self.attention = eqx.nn.MultiheadAttention(**heads, key=next(rngs)) if attention else None
        self.up = [
            ResidualBlock(2 * outputs, inputs, width, next(rngs))
            for inputs, outputs in reversed(list(zip(widths, ends, strict=True)))
        ]
        self.last = eqx.nn.Conv2d(width, 1, 1, key=next(rngs))
        self.pool = eqx.nn.AvgPool2d(2, 2)

    def __call__(self, image: jax.Array, level: jax.Array) -> jax.Array:
        frequencies = jnp.exp(-jnp.arange(self.first.out_channels // 2) / 2.0)
        angles = level * frequencies
        embedding = self.embed(jnp.concatenate([jnp.sin(angles), jnp.cos(angles)]))
        hidden, skipped = self.first(image), []
        for block in self.down:
            hidden = block(hidden, embedding)
            skipped.append(hidden)
            hidden = self.pool(hidden)
        hidden = self.middle(hidden, embedding)
        if self.attention is not None:
            pixels = hidden.reshape(hidden.shape[0], -1).T
            hidden = hidden + self.attention(pixels, pixels, pixels).T.reshape(hidden.shape)
        for block, skip in zip(self.up, reversed(skipped), strict=True):
            wider = jax.image.resize(hidden, skip.shape, "nearest")
            hidden = block(jnp.concatenate([wider, skip]), embedding)
        return self.last(jax.nn.silu(hidden))


def diffusion_task(
    width: int, depth: int, *, attention: bool, batch: int, size: int, sampled: bool = False
) -> Task:
    """Returns noise prediction with a U-Net; the forward pass samples from it if asked to.

    Args:
        width: Channels at full resolution.
        depth: Resolutions.
        attention: Attend over the pixels of the lowest resolution.
        batch: Images in a batch.
        size: Height and width of an image.
        sampled: The forward pass is the whole loop from noise to image.
    """
    params, static = split(lambda rng: UNet(width, depth, attention, rng))

    def predict(params: Any, images: jax.Array, levels: jax.Array) -> jax.Array:
        return jax.vmap(eqx.combine(params, static))(images, levels)

    def loss(params: Any, state: Any, images: jax.Array, rng: jax.Array) -> Any:
        level_rng, noise_rng = jax.random.split(rng)
        levels = jax.random.uniform(level_rng, (batch,))
        noise = jax.random.normal(noise_rng, images.shape)
        kept = jnp.cos(levels * jnp.pi / 2)[:, None, None, None]
        noisy = kept * images + jnp.sqrt(1 - kept**2) * noise
        return jnp.mean((predict(params, noisy, levels) - noise) ** 2), state

    def denoise(params: Any, state: Any, images: jax.Array, rng: jax.Array) -> jax.Array:
        def step(count: int, images: jax.Array) -> jax.Array:
            levels = jnp.full((batch,), 1.0 - count / NOISE_LEVELS)
            cleaner = images - predict(params, images, levels) / NOISE_LEVELS
            noise = jax.random.normal(jax.random.fold_in(rng, count), images.shape)
            return jax.lax.cond(
                count < NOISE_LEVELS - 1, lambda: cleaner + 0.05 * noise, lambda: cleaner
            )

        return jax.lax.fori_loop(0, NOISE_LEVELS, step, images)

    def forward(params: Any, state: Any, images: jax.Array, rng: jax.Array) -> jax.Array:
        return predict(params, images, jnp.linspace(0.0, 1.0, batch))

    return Task(
        params=params,
        state={},
        batch=(array(batch, 1, size, size), key()),
        forward=denoise if sampled else forward,
        loss=loss,
    )


def segmenter_task(width: int, depth: int, attention: bool, size: int | None = None) -> Task:
    """Returns segmentation with the U-Net of the diffusion models, at one noise level.

    Args:
        width: Channels at full resolution.
        depth: Resolutions.
        attention: Attend over the pixels of the lowest resolution.
        size: Height and width of an image; 8 for each resolution without it.
    """

    def forward(model: Any, images: jax.Array, masks: jax.Array, rng: jax.Array) -> jax.Array:
        return jax.vmap(lambda image: model(image, jnp.zeros(())))(images)

    def score(model: Any, images: jax.Array, masks: jax.Array, rng: jax.Array) -> jax.Array:
        flips = jax.random.bernoulli(rng, 0.5, (images.shape[0], 1, 1, 1))
        images, masks = (jnp.where(flips, part[..., ::-1], part) for part in (images, masks))
        chance = jax.nn.sigmoid(forward(model, images, masks, rng))
        overlap = jnp.sum(chance * masks, axis=(1, 2, 3))
        total = jnp.sum(chance + masks, axis=(1, 2, 3))
        return jnp.mean(1 - (2 * overlap + 1) / (total + 1))

    size = size or 8 * depth
    batch = (array(2, 1, size, size), array(2, 1, size, size), key())
    return task_of(lambda rng: UNet(width, depth, attention, rng), batch, forward, score)


def recipes() -> Iterator[Recipe]:
    """Yields the diffusion models and the segmenters."""
    diffusion: list[tuple[str, str, Callable[[], Task], dict[str, str]]] = [
        (
            "w8-d1",
            "1 resolution, 8 px",
            partial(diffusion_task, 8, 1, attention=False, batch=2, size=8),
            {"forward-b2": "forward", "grad-b2": "grad"},
        ),
        (
            "w8-d2-attention",
            "2 resolutions, attention, 16 px",
            partial(diffusion_task, 8, 2, attention=True, batch=2, size=16),
            {"train-adam-b2": "train-adam"},
        ),
        (
            "w8-d1-sampler",
            "1 resolution, 8 px, 50 denoising steps",
            partial(diffusion_task, 8, 1, attention=False, batch=2, size=8, sampled=True),
            {"sample-b2": "forward"},
        ),
    ]
    for model, size, task, kinds in diffusion:
        words = f"Diffusion U-Net in equinox, width 8, {size}, batch 2"
        yield from task_recipes("unet", LIBRARY, model, words, task, kinds)
    segmenters: list[Row] = [
        ("unet", "segmenter-d1", partial(segmenter_task, 8, 1, False), "train-sgdm loop-adam"),
        ("unet", "segmenter-d3", partial(segmenter_task, 8, 3, False), "forward grad"),
        ("unet", "segmenter-d2-attention", partial(segmenter_task, 8, 2, True), "train-adamw-clip"),
    ]
    yield from model_recipes(segmenters)
