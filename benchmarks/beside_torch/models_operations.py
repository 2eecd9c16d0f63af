"""Operations in PyTorch: sorting, selection, distances, sums, transforms, factors."""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.beside_torch.model import Model, whole


def first_ordered(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Returns places and values of the ten greatest scores of rows, by sorting whole rows."""
    order = torch.argsort(-scores, dim=-1, stable=True)[:, :10]
    return order, torch.gather(scores, 1, order)


def last_sorted(values: Tensor) -> Tensor:
    """Returns the 50 greatest values of rows, by sorting whole rows."""
    return torch.sort(values, dim=-1).values[:, -50:]


def sorted_floats(values: Tensor) -> Tensor:
    """Returns sorted rows, doubled."""
    return torch.sort(values, dim=-1).values * 2.0


def sorted_softmax(values: Tensor) -> Tensor:
    """Returns softmax of sorted rows."""
    return torch.softmax(torch.sort(values, dim=-1).values, dim=-1)


def neighbours(points: Tensor, queries: Tensor, values: Tensor) -> Tensor:
    """Returns means of the 16 nearest points' values, weighted by distance."""
    lengths = queries.square().sum(1)[:, None] + points.square().sum(1)
    negative, nearest = torch.topk(2 * queries @ points.T - lengths, 16)
    return torch.einsum("qk,qkd->qd", torch.softmax(negative, dim=1), values[nearest])


def distances(points: Tensor, centres: Tensor) -> Tensor:
    """Returns squared distances by broadcast."""
    return (points[:, None] - centres[None]).square().sum(-1)


def kernel_product(points: Tensor, values: Tensor, length: Tensor) -> Tensor:
    """Returns a Gaussian kernel of points times values, distances by broadcast."""
    apart = (points[:, None] - points[None]) / (0.5 + length)
    return torch.exp(-0.5 * apart.square().sum(-1)) @ values


def cumulative(values: Tensor) -> Tensor:
    """Returns cumulative sums of rows."""
    return torch.cumsum(values, dim=-1)


def long_convolution(signals: Tensor, filters: Tensor) -> Tensor:
    """Returns causal convolutions as long as the signals, by Fourier transforms."""
    size = signals.shape[-1]
    spectrum = torch.fft.rfft(signals, 2 * size) * torch.fft.rfft(filters, 2 * size)
    return torch.fft.irfft(spectrum, 2 * size)[..., :size]


def poisson(source: Tensor, inverse: Tensor) -> Tensor:
    """Solves Poisson's equation on a periodic cube."""
    return torch.fft.irfftn(torch.fft.rfftn(source) * inverse, source.shape)


def with_inverse(source: Tensor) -> tuple[Tensor, Tensor]:
    """Returns a source, and the inverse of the Laplacian's spectrum, which models keep."""
    size = source.shape[0]
    wave, half = (2 * torch.pi * f(size) for f in (torch.fft.fftfreq, torch.fft.rfftfreq))
    squares = wave[:, None, None] ** 2 + wave[:, None] ** 2 + half**2
    squares[0, 0, 0] = torch.inf
    return source, -1 / squares


def whitened(rows: Tensor) -> Tensor:
    """Returns rows whitened by a Cholesky factor of their covariance."""
    centred = rows - rows.mean(0)
    covariance = centred.T @ centred / len(rows) + 0.1 * torch.eye(rows.shape[1])
    factor = torch.linalg.cholesky(covariance)
    return torch.linalg.solve_triangular(factor, centred.T, upper=False).T


MODELS = (
    Model("selection/first-ordered/b64-n8192", whole(first_ordered)),
    Model("selection/last-sorted/b16-n8192", whole(last_sorted)),
    Model("sorting/floats/b8-n16384", whole(sorted_floats)),
    Model("sorting/softmax/b16-n4096", whole(sorted_softmax)),
    Model("nearest-neighbours/weighted/n8192-q256", whole(neighbours)),
    Model("pairwise-distance/broadcast/n4096-k32-d16", whole(distances)),
    Model("pairwise-distance/kernel/n768-d8", whole(kernel_product)),
    Model("cumulative-sum/rows/b16-n8192", whole(cumulative)),
    Model("fft/long-convolution/b4-c64-n2048", whole(long_convolution)),
    Model("fft/poisson/n64", whole(poisson), with_inverse),
    Model("dense-linear-algebra/whitened/n2048-d256", whole(whitened)),
)
"""Operations, most of them reported to be slow in XLA:CPU."""
