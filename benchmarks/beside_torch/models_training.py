"""A training step in PyTorch: super-resolution with Adam."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.beside_torch.model import Compiler, Function, Model, image
from benchmarks.beside_torch.models_vision import turned


def super_resolution(images: Tensor, weights: list[Tensor]) -> Tensor:
    """Returns images of twice the size, by residual convolutions and pixels from channels."""
    pairs = list(zip(weights[1::2], weights[::2], strict=True))
    first = x = F.conv2d(images, *pairs[0], padding=1)
    for inner, outer in zip(pairs[1:-1:2], pairs[2:-1:2], strict=True):
        x = x + 0.1 * F.conv2d(F.relu(F.conv2d(x, *inner, padding=1)), *outer, padding=1)
    x = F.conv2d(x + first, *pairs[-1], padding=1)
    # Channels are rows, columns, colours; pixel_shuffle wants colours first.
    return F.pixel_shuffle(x.unflatten(1, (4, 3)).transpose(1, 2).flatten(1, 2), 2)


def super_resolution_step(compiler: Compiler) -> Function:
    """Makes a training step with Adam; its state is an argument and a result."""

    def mean_error(weights: list[Tensor], small: Tensor, large: Tensor) -> Tensor:
        return (super_resolution(small, weights) - large).abs().mean()

    def adam(
        count: Tensor,
        weights: list[Tensor],
        means: list[Tensor],
        squares: list[Tensor],
        slopes: tuple[Tensor, ...],
    ) -> tuple[list[Tensor], ...]:
        means = [0.9 * m + 0.1 * g for m, g in zip(means, slopes, strict=True)]
        squares = [0.999 * s + 0.001 * g * g for s, g in zip(squares, slopes, strict=True)]
        first, second = 1 - 0.9**count, 1 - 0.999**count
        weights = [
            w - 1e-3 * (m / first) / (torch.sqrt(s / second) + 1e-8)
            for w, m, s in zip(weights, means, squares, strict=True)
        ]
        return weights, means, squares

    loss, update = compiler(mean_error), compiler(adam)

    def step(count: Tensor, state: tuple[list[Tensor], ...], batch: tuple[Tensor, Tensor]) -> list:
        weights, means, squares = state
        weights = [weight.detach().requires_grad_() for weight in weights]
        value = loss(weights, *batch)
        slopes = torch.autograd.grad(value, weights)
        with torch.no_grad():
            weights, means, squares = update(count + 1, weights, means, squares, slopes)
        return [*weights, count + 1, *means, *squares, value]

    return step


def step_inputs(*inputs: Tensor) -> tuple[Tensor, tuple[list[Tensor], ...], tuple[Tensor, Tensor]]:
    """Returns the count of steps, weights and their moments, and the two batches of images."""
    weights, count, *rest = inputs[:20], *inputs[20:]
    state = (turned(weights), turned(tuple(rest[:20])), turned(tuple(rest[20:40])))
    return count, state, (image(rest[40]), image(rest[41]))


def step_outputs(outputs: list[Tensor]) -> list[Tensor]:
    """Returns the results of the training step, kernels HWIO."""
    return [each.permute(2, 3, 1, 0) if each.dim() == 4 else each for each in outputs]


MODELS = (
    Model(
        "super-resolution/flax-b4-w32-b1-96px/train-adam",
        super_resolution_step,
        step_inputs,
        step_outputs,
        gradient=True,
    ),
)
"""Training steps."""
