"""Defines graph layers other than GATv2, on one round of distinct neighbourhoods.

The equations and the names of the parameters are those of torch-geometric's modules, so that each
is tested against its model. They are written by hand because a round has few distinct labels and
many edges from each source: both are projected once, before they are repeated for each edge.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from models.config import GATConfig
from models.refined_graphs import Round

NEGATIVE_SLOPE = 0.2
"""Slope of the leaky ReLU of attention below 0, as in Veličković et al. 2018."""


class MessagePassing(nn.Module, ABC):
    """Aggregation of the neighbours' vectors and the edges' labels."""

    @abstractmethod
    def sources(self, nodes: Tensor) -> Tensor:
        """Computes per-node inputs of the messages: [C', width] to float32 [C', P]."""

    @abstractmethod
    def forward(self, sources: Tensor, part: Round, labels: Tensor) -> Tensor:
        """Aggregates messages for the colours of a round.

        Args:
            sources: float32 [C', P], of the round before, or of a longer table.
            part: The round, C colours with M edges.
            labels: float32 [L, edge_width], features of an edge by its label.

        Returns:
            float32 [C, width].
        """


class GAT(MessagePassing):
    """Attention with the same ranking of neighbours for every node, as in `GATConv`.

    Veličković et al. 2018 (arXiv:1710.10903). As in GATv2, labels change the weights of the
    neighbours and not their values.
    """

    def __init__(self, config: GATConfig) -> None:
        super().__init__()
        self.heads, width = config.heads, config.width
        self.head_width = config.head_width
        self.lin = nn.Linear(width, width, bias=False)
        self.lin_edge = nn.Linear(config.edge_width, width, bias=False)
        shape = (1, config.heads, config.head_width)
        self.att_src = nn.Parameter(torch.empty(shape))
        self.att_dst = nn.Parameter(torch.empty(shape))
        self.att_edge = nn.Parameter(torch.empty(shape))
        self.bias = nn.Parameter(torch.zeros(width))
        matrices = (self.lin.weight, self.lin_edge.weight)
        for parameter in (*matrices, self.att_src, self.att_dst, self.att_edge):
            nn.init.xavier_uniform_(parameter.detach().flatten(0, -2))  # a view, as a matrix

    def sources(self, nodes: Tensor) -> Tensor:
        """Returns projected nodes, with their logits as source and as target."""
        projected = self.lin(nodes)
        logits = [self._logits(projected, weight) for weight in (self.att_src, self.att_dst)]
        return torch.cat([projected, *logits], dim=1)

    def forward(self, sources: Tensor, part: Round, labels: Tensor) -> Tensor:
        """Aggregates by attention; colours without edges get the bias alone."""
        rows, count, heads = part.rows(), len(part.own), self.heads
        edges = sources[:, :-heads].index_select(0, part.source)
        target = sources[:, -heads:].index_select(0, part.own)
        of_label = self._logits(self.lin_edge(labels), self.att_edge)
        logits = edges[:, -heads:] + target.index_select(0, rows)
        logits = nn.functional.leaky_relu(
            logits + of_label.index_select(0, part.label), NEGATIVE_SLOPE
        )
        share = _softmax(logits, rows, count)
        weighted = self._by_head(edges[:, :-heads]) * share.unsqueeze(-1)
        return _sum(weighted.flatten(1), rows, count) + self.bias

    def _by_head(self, projected: Tensor) -> Tensor:
        return projected.unflatten(1, (self.heads, self.head_width))

    def _logits(self, projected: Tensor, weight: Tensor) -> Tensor:
        """Returns each head's product with its weights, float32 [N, heads]."""
        return (self._by_head(projected) * weight).sum(-1)


class SAGE(MessagePassing):
    """Mean over neighbours (Hamilton et al. 2017, arXiv:1706.02216), as in `SAGEConv`.

    GraphSAGE has no edge features. A label joins the neighbour's vector as it does in `GIN`,
    before a ReLU, so that the mean keeps which neighbour had which label.
    """

    def __init__(self, config: GATConfig) -> None:
        super().__init__()
        self.lin = nn.Linear(config.edge_width, config.width)
        self.lin_l = nn.Linear(config.width, config.width)
        self.lin_r = nn.Linear(config.width, config.width, bias=False)

    def sources(self, nodes: Tensor) -> Tensor:
        """Returns the nodes unchanged."""
        return nodes

    def forward(self, sources: Tensor, part: Round, labels: Tensor) -> Tensor:
        """Projects the mean message, which is 0 without edges, and the node itself."""
        total = _sum(_messages(sources, part, self.lin(labels)), part.rows(), len(part.own))
        mean = total / part.offsets.diff().clamp(min=1).unsqueeze(1)
        return self.lin_l(mean) + self.lin_r(sources.index_select(0, part.own))


class GIN(MessagePassing):
    """Sum over neighbours, followed by an MLP (Xu et al. 2019, arXiv:1810.00826).

    With a term for the edge's label before a ReLU (Hu et al. 2020, arXiv:1905.12265), as
    `GINEConv` with epsilon 0.
    """

    def __init__(self, config: GATConfig) -> None:
        super().__init__()
        width = config.width
        self.nn = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.lin = nn.Linear(config.edge_width, width)

    def sources(self, nodes: Tensor) -> Tensor:
        """Returns the nodes unchanged."""
        return nodes

    def forward(self, sources: Tensor, part: Round, labels: Tensor) -> Tensor:
        """Applies an MLP to the sum of the node itself and its messages."""
        total = _sum(_messages(sources, part, self.lin(labels)), part.rows(), len(part.own))
        return self.nn(total + sources.index_select(0, part.own))


def _messages(sources: Tensor, part: Round, labels: Tensor) -> Tensor:
    """Returns the message of each edge, source plus label after a ReLU, float32 [M, width]."""
    return (sources.index_select(0, part.source) + labels.index_select(0, part.label)).relu()


def _sum(values: Tensor, rows: Tensor, count: int) -> Tensor:
    """Sums edges by their target colour: [M, W] to float32 [count, W]."""
    return values.new_zeros(count, values.shape[1]).index_add(0, rows, values)


def _softmax(logits: Tensor, rows: Tensor, count: int) -> Tensor:
    """Returns the softmax over the edges of each colour, float32 [M, heads]."""
    # The shift cancels out, so no gradient passes through it.
    shift = logits.detach()
    largest = shift.new_full((count, shift.shape[1]), -torch.inf)
    largest = largest.scatter_reduce(0, rows.unsqueeze(1).expand_as(shift), shift, "amax")
    power = (logits - largest.index_select(0, rows)).exp()
    return power / _sum(power, rows, count).index_select(0, rows)
