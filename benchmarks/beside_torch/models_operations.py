"""Networks of text in PyTorch, operations, and algorithms."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.beside_torch.model import Compiler, Function, Model, dense, repeated, whole

HEADS, KEYS, WIDTH, LAYERS = 12, 2, 32, 4
"""Heads, heads of keys and values, width of a head, and layers of the Llama."""


def turned(x: Tensor, sine: Tensor, cosine: Tensor) -> Tensor:
    """Returns queries or keys turned by their place."""
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat([-second, first], dim=-1) * sine


def llama(
    tokens: Tensor,
    mask: Tensor,
    turns: tuple[Tensor, Tensor],
    embedding: Tensor,
    layers: list[list[Tensor]],
    last: tuple[Tensor, Tensor],
) -> Tensor:
    """Returns logits of all tokens, as the prefill of a Llama computes them."""
    x = F.embedding(tokens, embedding)
    for before, down, gate, up, after, key, out, query, value in layers:
        y = F.rms_norm(x, before.shape, before, eps=1e-6)
        heads = [
            F.linear(y, weight).unflatten(-1, (count, WIDTH)).transpose(1, 2)
            for weight, count in ((query, HEADS), (key, KEYS), (value, KEYS))
        ]
        y = F.scaled_dot_product_attention(
            turned(heads[0], *turns),
            turned(heads[1], *turns),
            heads[2],
            attn_mask=mask,
            enable_gqa=True,
        )
        x = x + F.linear(y.transpose(1, 2).flatten(2), out)
        y = F.rms_norm(x, after.shape, after, eps=1e-6)
        x = x + F.linear(F.silu(F.linear(y, gate)) * F.linear(y, up), down)
    norm, head = last
    return F.linear(F.rms_norm(x, norm.shape, norm, eps=1e-6), head)


def llama_inputs(*inputs: Tensor) -> tuple[Any, ...]:
    """Returns tokens, the causal mask, sines and cosines of places, and the weights by layer."""
    head, embedding, *weights, norm, tokens, seen = inputs
    size = tokens.shape[1]
    rates = 10000.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
    angles = (torch.arange(size)[:, None] * rates).repeat(1, 2)
    allowed = torch.ones(size, size, dtype=torch.bool).tril() & (seen > 0)[:, None, None]
    # Rows without any allowed place become even, as in the program, which adds the least float.
    mask = torch.zeros(allowed.shape).masked_fill(~allowed, torch.finfo(torch.float32).min)
    turned_weights = [dense(weight) if weight.dim() == 2 else weight for weight in weights]
    layers = [turned_weights[9 * layer : 9 * layer + 9] for layer in range(LAYERS)]
    turns = torch.sin(angles), torch.cos(angles)
    return tokens, mask, turns, embedding, layers, (norm, dense(head))


class Memories(torch.nn.Module):
    """Embedding, two layers of long short-term memory, and a projection."""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, width)
        self.memory = torch.nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.head = torch.nn.Linear(width, vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        """Returns logits of all tokens."""
        return self.head(self.memory(self.embedding(tokens))[0])


def memories(network: Memories, tokens: Tensor) -> Tensor:
    """Returns logits of all tokens."""
    return network(tokens)


def memory_inputs(*inputs: Tensor) -> tuple[Memories, Tensor]:
    """Returns the network with its weights, and tokens; flax has a matrix for each gate."""
    bias, head, embedding, *cells, tokens = inputs
    network = Memories(*embedding.shape)
    values = {"embedding.weight": embedding, "head.weight": head.T, "head.bias": bias}
    for layer in range(2):
        gates = cells[12 * layer : 12 * layer + 12]
        # Gates are in the order of their names: f, g, i, o; PyTorch's is i, f, g, o.
        hidden_bias, hidden, inner = gates[:8:2], gates[1:8:2], gates[8:]
        order = (2, 0, 1, 3)
        values |= {
            f"memory.weight_ih_l{layer}": torch.cat([inner[gate].T for gate in order]),
            f"memory.weight_hh_l{layer}": torch.cat([hidden[gate].T for gate in order]),
            f"memory.bias_hh_l{layer}": torch.cat([hidden_bias[gate] for gate in order]),
            f"memory.bias_ih_l{layer}": torch.zeros(4 * hidden[0].shape[0]),
        }
    network.load_state_dict(values)
    return network.eval(), tokens


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
    """Returns squared distances by broadcast, points by centres."""
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


def lloyd(compiler: Compiler) -> Function:
    """Makes ten rounds of Lloyd's algorithm, with one-hot sums."""

    @compiler
    def update(centres: Tensor, points: Tensor) -> Tensor:
        labels = distances(points, centres).argmin(1)
        members = F.one_hot(labels, len(centres)).to(points.dtype)
        counts = members.sum(0)[:, None]
        return torch.where(counts > 0, members.T @ points / counts.clamp(min=1), centres)

    @compiler
    def loss(points: Tensor, centres: Tensor) -> Tensor:
        return distances(points, centres).amin(1).mean()

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
    Model("llama/l4-h384-a12-gqa/forward-b1-s192", whole(llama), llama_inputs),
    Model("lstm/flax-l2-h256-b4-s128/forward", whole(memories), memory_inputs),
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
