"""Convolutional nets of flax.linen with batch norm, weight norm or spectral norm."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import flax.linen as nn
import jax
from recipe import Recipe, array
from sources.flax_sequences import Row, model_recipes, supervised
from tasks import Task


class NormedNet(nn.Module):
    """Convolutions with batch statistics, or with normed weights (weight and spectral norm)."""

    widths: tuple[int, ...]
    norm: str
    residual: bool = False

    @nn.compact
    def __call__(self, images: jax.Array, train: bool = False) -> jax.Array:
        hidden = images
        for width in self.widths:
            before = hidden
            conv = nn.Conv(width, (3, 3), use_bias=self.norm != "batch")
            if self.norm == "batch":
                hidden = nn.BatchNorm(use_running_average=not train)(conv(hidden))
            elif self.norm == "weight":
                hidden = nn.WeightNorm(conv)(hidden)
            else:
                hidden = nn.SpectralNorm(conv)(hidden, update_stats=train)
            if self.residual and before.shape == hidden.shape:
                hidden = hidden + before
            hidden = nn.avg_pool(nn.relu(hidden), (2, 2), (2, 2)) if width > 8 else nn.relu(hidden)
        return nn.Dense(10)(hidden.mean(axis=(1, 2)))


def normed_task(norm: str, *widths: int, residual: bool = False) -> Task:
    """Returns image classification by a `NormedNet`."""
    model = NormedNet(widths, norm, residual)
    images = array(4, 16, 16, 3)
    # Weight norm keeps no statistics.
    return supervised(model, images, labels=(4,), stateful=norm != "weight")


def recipes() -> Iterator[Recipe]:
    """Yields the convolutional nets."""
    plain, residual = partial(partial, normed_task), partial(partial, normed_task, residual=True)
    rows: list[Row] = [
        ("batchnorm-w8x16", plain("batch", 8, 16), "forward train-sgdm"),
        ("batchnorm-w8x8x16x16", residual("batch", 8, 8, 16, 16), "train-adamw loop-sgdm"),
        ("weightnorm-w8x16", plain("weight", 8, 16), "forward train-adam"),
        ("weightnorm-w8x8x16", residual("weight", 8, 8, 16), "hvp"),
        ("spectral-w8x16", plain("spectral", 8, 16), "forward train-adam"),
        ("spectral-w8x8x8", residual("spectral", 8, 8, 8), "grad"),
    ]
    yield from model_recipes("cnn", "Convolutional net", rows)
