"""Algorithms in PyTorch: particles, transport, clustering, Gaussian processes, stencils."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.beside_torch.model import Compiler, Function, Model, repeated, whole


def forces(positions: Tensor) -> Tensor:
    """Returns pairwise forces of unit charges by broadcast."""
    apart = positions[:, None] - positions[None]
    squares = apart.square().sum(-1, keepdim=True) + 1e-2
    return (apart / squares**1.5).sum(1)


def sinkhorn_start(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the first potentials, which are zero, and the costs."""
    costs = (first[:, None] - second[None]).square().sum(-1)
    return torch.zeros(len(first)), torch.zeros(len(second)), costs


def sinkhorn_step(f: Tensor, g: Tensor, costs: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the next potentials of Sinkhorn's algorithm."""
    first, second = costs.shape
    f = -0.1 * torch.logsumexp((g[None] - costs) / 0.1 - math.log(second), dim=1)
    g = -0.1 * torch.logsumexp((f[:, None] - costs) / 0.1 - math.log(first), dim=0)
    return f, g


def sinkhorn_outputs(outputs: tuple[Tensor, ...]) -> list[Tensor]:
    """Returns the cost and the potentials."""
    f, g, _ = outputs
    return [f.mean() + g.mean(), f, g]


def squared_distances(points: Tensor, centres: Tensor) -> Tensor:
    """Returns squared distances by broadcast, points by centres."""
    return (points[:, None] - centres[None]).square().sum(-1)


def lloyd(compiler: Compiler) -> Function:
    """Makes ten rounds of Lloyd's algorithm, with one-hot sums."""

    @compiler
    def update(centres: Tensor, points: Tensor) -> Tensor:
        labels = squared_distances(points, centres).argmin(1)
        members = F.one_hot(labels, len(centres)).to(points.dtype)
        counts = members.sum(0)[:, None]
        return torch.where(counts > 0, members.T @ points / counts.clamp(min=1), centres)

    @compiler
    def loss(points: Tensor, centres: Tensor) -> Tensor:
        return squared_distances(points, centres).amin(1).mean()

    def run(points: Tensor, centres: Tensor) -> tuple[Tensor, Tensor]:
        for _ in range(10):
            centres = update(centres, points)
        return centres, loss(points, centres)

    return run


def gaussian_process(compiler: Compiler) -> Function:
    """Makes the negative log likelihood of a Gaussian process with its gradient."""

    @compiler
    def loss(params: list[Tensor], points: Tensor, values: Tensor) -> Tensor:
        length, noise, scale, shape = params
        scaled = points / torch.exp(length)
        squares = (scaled[:, None] - scaled[None]).square().sum(-1)
        covariance = torch.exp(scale) * torch.exp(-0.5 * squares)
        covariance = covariance + torch.exp(noise) * torch.eye(len(points))
        factor = torch.linalg.cholesky(covariance)
        white = torch.linalg.solve_triangular(factor, (values - shape[2])[:, None], upper=False)
        size = torch.log(factor.diagonal()).sum() + 0.5 * len(points) * math.log(2 * math.pi)
        return 0.5 * white.square().sum() + size

    def run(*inputs: Tensor) -> tuple[Tensor, ...]:
        params = [each.detach().requires_grad_() for each in inputs[:4]]
        value = loss(params, *inputs[4:])
        return value, *torch.autograd.grad(value, params)

    return run


def heat_step(field: Tensor, rate: Tensor) -> tuple[Tensor]:
    """Returns a periodic field after one step of diffusion."""
    sides = [torch.roll(field, by, axis) for axis in (0, 1) for by in (-1, 1)]
    return (field + 0.2 * rate * (sum(sides) - 4 * field),)


def convolved_step(field: Tensor, rate: Tensor, weight: Tensor) -> tuple[Tensor]:
    """Returns fields after one step of diffusion by a convolution with nine numbers."""
    return (field + rate * F.conv2d(field[:, None], weight, padding=1)[:, 0],)


def with_weight(field: Tensor, rate: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns fields and rate, and the kernel of the convolution."""
    weight = torch.tensor([[0.05, 0.2, 0.05], [0.2, -1.0, 0.2], [0.05, 0.2, 0.05]])
    return field, rate, weight[None, None]


MODELS = (
    Model("n-body/forces/n512", whole(forces)),
    Model(
        "optimal-transport/potentials/n512-t100",
        repeated(sinkhorn_step, 100, sinkhorn_start),
        finish=sinkhorn_outputs,
    ),
    Model("k-means/lloyd/n4096-k32-d16", lloyd),
    Model("gaussian-process/exp-squared/grad-n512", gaussian_process, gradient=True),
    Model("stencil/heat/n512-t50", repeated(heat_step, 50), finish=lambda outputs: outputs[:1]),
    Model(
        "stencil/heat-convolved/b4-n128-t20",
        repeated(convolved_step, 20),
        with_weight,
        lambda outputs: outputs[:1],
    ),
)
"""Simulations and algorithms."""
