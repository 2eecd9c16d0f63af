"""Pools the vectors of a graph's nodes into one of the graph."""

import torch
from torch import Tensor, nn

from models.config import LOG_COUNT_SCALE, GATConfig
from models.refined_graphs import Members

SHARPNESS = 2.0
"""Standard deviation of the logits of a new pooling layer."""
LOGIT_LIMIT = 10.0
"""Bound of the logits of attention, so that no exponential overflows."""


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
        """Returns the per-node terms of the sums, float32 [C, width + heads + kinds + 1]."""
        nodes = self.norm(nodes)
        weight = self._weights(nodes)
        value = self.value(nodes).view(len(nodes), self.heads, self.values // self.heads)
        weighted = (weight.unsqueeze(-1) * value).flatten(1)
        return torch.cat(
            [weighted, weight, self.kind(nodes).sigmoid(), torch.ones_like(weight[:, :1])], dim=1
        )

    def weights(self, nodes: Tensor) -> Tensor:
        """Returns the weights of nodes in the average of each head, float32 [C, heads]."""
        return self._weights(self.norm(nodes))

    def _weights(self, normed: Tensor) -> Tensor:
        return (LOGIT_LIMIT * (self.gate(normed) / LOGIT_LIMIT).tanh()).exp()

    def finish(self, sums: Tensor) -> Tensor:
        """Computes vectors of graphs, float32 [G, self.width], from the sums over their nodes."""
        weighted, weight, counts = sums.split(
            [self.values, self.heads, self.width - self.values], dim=1
        )
        average = weighted.view(
            len(sums), self.heads, self.values // self.heads
        ) / weight.unsqueeze(-1)
        return torch.cat([average.flatten(1), counts.log1p() * LOG_COUNT_SCALE], dim=1)
