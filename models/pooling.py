"""Pools the vectors of a graph's nodes into one of the graph."""

from typing import Any

import torch
from torch import Tensor, nn

from hlograph.graph import pooling
from hlograph.graph.pooling import PoolingShape
from models.config import LOG_COUNT_SCALE, GATConfig
from models.projection import project
from models.refined_graphs import Members

SHARPNESS = 2.0
"""Standard deviation of the logits of a new pooling layer."""
LOGIT_LIMIT = 10.0
"""Bound of the logits of attention, so that no exponential overflows."""
COLUMNS = 16
"""Columns are filled up to a multiple of this."""


class Pooling(nn.Module):
    """Attention pooling, concatenated with soft counts of learned kinds of node.

    Each head of the attention (as in gated global attention, Li et al. 2016,
    arXiv:1511.05493, normalised over the graph) finds the nodes that matter and averages
    them. An average cannot count, and how often a pattern occurs decides what a pass is
    worth, so the other part sums memberships in learned kinds, on a log scale. log N is
    the count of the kind that every node belongs to.

    All outputs come from sums over a graph's nodes of terms that depend on the node alone, so the
    terms of equal nodes are computed once. Logits are bounded smoothly (as in Gemma 2,
    arXiv:2408.00118, section 2) rather than shifted by each graph's largest.
    """

    def __init__(self, config: GATConfig) -> None:
        super().__init__()
        self.heads, self.values = config.heads, config.width
        self.norm = nn.LayerNorm(config.width)
        self.gate = nn.Linear(config.width, config.heads)
        self.value = nn.Linear(config.width, config.width)
        self.kind = nn.Linear(config.width, config.counted_kinds)
        self.width = config.width + config.counted_kinds + 1
        self.shape = PoolingShape(
            config.heads, config.head_width, config.counted_kinds, LOGIT_LIMIT
        )
        # A further gate, which is 0, counts nodes; columns in whole vectors make a quick product.
        columns = config.width + config.counted_kinds + config.heads + 1
        self._further = -columns % COLUMNS + 1
        # With torch's usual small weights every kind would begin as half of every node, and
        # every head as the plain average: the same few numbers for all graphs. Wide ones
        # make them sharp, so that counts and averages tell graphs apart from the start.
        for layer in (self.gate, self.kind):
            nn.init.normal_(layer.weight, std=SHARPNESS / config.width**0.5)
        nn.init.constant_(self.kind.bias, -SHARPNESS)

    def forward(self, nodes: Tensor, members: Members) -> Tensor:
        """Pools the nodes of graphs.

        Args:
            nodes: float32 [C, width], distinct nodes.
            members: The number of each in each graph.

        Returns:
            float32 [G, self.width].
        """
        return self.finish(members.sum(self.summands(nodes)))

    def summands(self, nodes: Tensor) -> Tensor:
        """Returns the per-node terms of the sums, float32 [C, columns].

        The columns are weighted values, kinds, the weights of the heads, and ones.
        """
        projected = project(self.norm, *self.projection(), nodes)
        if nodes.device.type == "cpu" and pooling.fits(self.shape):
            return _Terms.apply(projected, self.shape)
        return self._terms(projected)

    def projection(self) -> tuple[Tensor, Tensor]:
        """Returns weight and bias that map normalised nodes to values, kinds and gates."""
        layers = (self.value, self.kind, self.gate)
        zeros = self.gate.weight.new_zeros(self._further, self.values)
        weight = torch.cat([*(layer.weight for layer in layers), zeros])
        return weight, torch.cat([*(layer.bias for layer in layers), zeros[:, 0]])

    def _terms(self, projected: Tensor) -> Tensor:
        """Computes the terms on any device."""
        value, kind, gate = projected.split(self._columns, dim=1)
        weight = _weights(gate)
        by_head = value.unflatten(1, (self.heads, -1)) * weight[:, : self.heads].unsqueeze(-1)
        return torch.cat([by_head.flatten(1), kind.sigmoid(), weight], dim=1)

    @property
    def _columns(self) -> list[int]:
        """Numbers of columns of values, kinds and gates."""
        return [self.values, self.shape.kinds, self.heads + self._further]

    def weights(self, nodes: Tensor) -> Tensor:
        """Returns the weights of nodes in the average of each head, float32 [C, heads]."""
        return _weights(self.gate(self.norm(nodes)))

    def finish(self, sums: Tensor) -> Tensor:
        """Computes vectors of graphs, float32 [G, self.width], from the sums over their nodes."""
        weighted, kinds, weight = sums.split(self._columns, dim=1)
        average = weighted.unflatten(1, (self.heads, -1)) / weight[:, : self.heads].unsqueeze(-1)
        counts = torch.cat([kinds, weight[:, self.heads : self.heads + 1]], dim=1)
        return torch.cat([average.flatten(1), counts.log1p() * LOG_COUNT_SCALE], dim=1)


def _weights(gate: Tensor) -> Tensor:
    return (LOGIT_LIMIT * (gate / LOGIT_LIMIT).tanh()).exp()


class _Terms(torch.autograd.Function):
    """Differentiable torch function of the fused code."""

    @staticmethod
    def forward(ctx: Any, projected: Tensor, shape: PoolingShape) -> Tensor:
        ctx.given, ctx.shape = projected.detach().contiguous().numpy(), shape
        ctx.terms = pooling.forward(ctx.given, shape, torch.get_num_threads())
        return torch.from_numpy(ctx.terms)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        given = gradient.contiguous().numpy()
        result = pooling.backward(ctx.given, ctx.shape, ctx.terms, given, torch.get_num_threads())
        return torch.from_numpy(result), None
