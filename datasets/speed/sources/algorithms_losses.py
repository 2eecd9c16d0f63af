"""Losses and statistics over large batches, with gradients."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import optax
from recipe import Recipe, array
from speed.programs import Program, program_recipes

LIBRARY = "jax"


def sloped(loss: Callable[..., jax.Array]) -> Callable[..., Any]:
    """Returns the mean of a loss with its gradient for the first argument."""
    return jax.value_and_grad(lambda *given: jnp.mean(loss(*given)))


def next_token(hidden: jax.Array, words: jax.Array, labels: jax.Array) -> jax.Array:
    """Returns cross entropies of tokens over a large vocabulary, smoothed, with a z-loss."""
    logits = hidden @ words.T
    total = jax.nn.logsumexp(logits, axis=-1)
    chosen = jnp.take_along_axis(logits, labels[:, None], axis=-1)[:, 0]
    return total - 0.9 * chosen - 0.1 * logits.mean(axis=-1) + 1e-4 * total**2


def contrastive(images: jax.Array, texts: jax.Array, scale: jax.Array) -> jax.Array:
    """Returns the loss of matching images with texts both ways, as CLIP does."""
    images = images / jnp.linalg.norm(images, axis=1, keepdims=True)
    texts = texts / jnp.linalg.norm(texts, axis=1, keepdims=True)
    logits = jnp.exp(scale) * images @ texts.T
    rows, columns = jax.nn.log_softmax(logits, 1), jax.nn.log_softmax(logits, 0)
    return -0.5 * (jnp.diagonal(rows) + jnp.diagonal(columns))


def mixed_discrepancy(first: jax.Array, second: jax.Array) -> jax.Array:
    """Returns the maximum mean discrepancy of two samples under five Gaussian kernels."""
    both = jnp.concatenate([first, second])
    distances = jnp.sum((both[:, None] - both[None]) ** 2, axis=-1)
    base = jax.lax.stop_gradient(distances.mean())
    kernel = sum(jnp.exp(-distances / (base * scale)) for scale in (0.25, 0.5, 1.0, 2.0, 4.0))
    half = len(first)
    inner = kernel[:half, :half].mean() + kernel[half:, half:].mean()
    return inner - 2 * kernel[:half, half:].mean()


def hardest(points: jax.Array, labels: jax.Array) -> jax.Array:
    """Returns triplet losses with the farthest friend and the nearest stranger of each point."""
    apart = points[:, None] - points[None]
    distances = jnp.sqrt(jnp.sum(apart**2, axis=-1) + 1e-6)
    same = labels[:, None] == labels
    friend = jnp.max(jnp.where(same, distances, 0.0), axis=1)
    stranger = jnp.min(jnp.where(same, 1e3, distances), axis=1)
    return jnp.maximum(friend - stranger + 0.2, 0.0)


def decorrelated(first: jax.Array, second: jax.Array) -> jax.Array:
    """Returns the loss of Barlow twins: the cross correlation should be the identity."""
    first = (first - first.mean(0)) / (first.std(0) + 1e-5)
    second = (second - second.mean(0)) / (second.std(0) + 1e-5)
    table = first.T @ second / len(first)
    on = jnp.sum((jnp.diagonal(table) - 1) ** 2)
    return on + 5e-3 * (jnp.sum(table**2) - jnp.sum(jnp.diagonal(table) ** 2))


def similar_images(first: jax.Array, second: jax.Array) -> jax.Array:
    """Returns the structural similarity of images, means by windows of 7x7."""

    def mean(x: jax.Array) -> jax.Array:
        window = (1, 7, 7, 1)
        return jax.lax.reduce_window(x, 0.0, jax.lax.add, window, (1, 1, 1, 1), "VALID") / 49

    one, two = mean(first), mean(second)
    spread_one, spread_two = mean(first**2) - one**2, mean(second**2) - two**2
    mixed = mean(first * second) - one * two
    top = (2 * one * two + 1e-2) * (2 * mixed + 3e-2)
    return top / ((one**2 + two**2 + 1e-2) * (jnp.abs(spread_one + spread_two) + 3e-2))


def advantages(rewards: jax.Array, values: jax.Array, ends: jax.Array) -> Any:
    """Returns generalised advantages of games by a scan back in time, normalised."""
    going = (ends < 1.5).astype(rewards.dtype)

    def back(after: jax.Array, row: Any) -> Any:
        reward, value, later, going = row
        total = reward + 0.99 * going * later - value + 0.99 * 0.95 * going * after
        return total, total

    rows = (rewards, values[:-1], values[1:], going)
    found = jax.lax.scan(back, jnp.zeros(rewards.shape[1]), rows, reverse=True)[1]
    return (found - found.mean()) / (found.std() + 1e-6), found + values[:-1]


def focal_boxes(logits: jax.Array, targets: jax.Array) -> jax.Array:
    """Returns optax's focal loss of boxes and classes, summed by image."""
    losses = optax.sigmoid_focal_loss(logits, (targets > 1.5).astype(logits.dtype), alpha=0.25)
    return losses.sum(axis=(1, 2))


def ranked(scores: jax.Array, marks: jax.Array) -> jax.Array:
    """Returns pairwise ranking losses of lists, weighted by how far the marks are apart."""
    apart = scores[:, :, None] - scores[:, None, :]
    better = (marks[:, :, None] > marks[:, None, :]).astype(scores.dtype)
    weight = better * jnp.abs(marks[:, :, None] - marks[:, None, :])
    return jnp.sum(weight * jax.nn.softplus(-apart), axis=(1, 2))


def recipes() -> Iterator[Recipe]:
    """Yields the losses."""
    games = (array(512, 1024), array(513, 1024), array(512, 1024))
    images = array(4, 128, 128, 3)
    labels = array(512, dtype=jnp.int32)
    programs = (
        ("next-token/n512-v8192", sloped(next_token), (array(512, 128), array(8192, 128), labels)),
        ("contrastive/n1024-d256", sloped(contrastive), (array(1024, 256),) * 2 + (array(),)),
        ("mixed-discrepancy/n256-d32", sloped(mixed_discrepancy), (array(256, 32),) * 2),
        ("hardest/n512-d32", sloped(hardest), (array(512, 32), labels)),
        ("decorrelated/n2048-d256", sloped(decorrelated), (array(2048, 256),) * 2),
        ("similar-images/b4-n128", sloped(similar_images), (images, images)),
        ("advantages/t512-b1024", advantages, games),
        ("ranked/b32-n128", sloped(ranked), (array(32, 128), array(32, 128))),
    )
    for name, function, arguments in programs:
        words = f"{name.split('/')[0]} loss"
        yield from program_recipes(LIBRARY, [Program(f"loss/{name}", words, function, arguments)])
    focal = (array(8, 4096, 20), array(8, 4096, 20))
    words = "optax.sigmoid_focal_loss over boxes and gradient"
    yield from program_recipes(
        "optax", [Program("loss/focal-boxes/b8-n4096-c20", words, sloped(focal_boxes), focal)]
    )
