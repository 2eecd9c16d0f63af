"""Defines the layers of the graph encoder: x + gelu(f(LayerNorm(x), neighbours)).

Pre-norm residual blocks (Xiong et al. 2020, arXiv:2002.04745). No self-loops are added: the
residual keeps a node's own vector, and a self-loop would need made-up edge features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from models.attention import attend, has_fused_code, projection
from models.config import GATConfig
from models.gatv2 import GATv2
from models.message_passing import GAT, GIN, SAGE, MessagePassing
from models.projection import project
from models.refined_graphs import Round


class GraphBlock(nn.Module, ABC):
    """Layer that works on one round of distinct neighbourhoods.

    It has two halves: `sources` depends on a node alone, `onward` on the neighbourhood.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, nodes: Tensor, part: Round, labels: Tensor) -> Tensor:
        """Maps vectors before the layer, float32 [C', width], to those after it, [C, width].

        Args:
            nodes: Vectors of the round before.
            part: The round.
            labels: float32 [L, edge_width], features of an edge by its label.
        """
        return self.onward(nodes, self.sources(nodes), part, labels)

    @abstractmethod
    def sources(self, nodes: Tensor) -> Tensor:
        """Runs the first half, which depends on each node alone: [C', width] to float32 [C', P]."""

    @abstractmethod
    def onward(self, nodes: Tensor, sources: Tensor, part: Round, labels: Tensor) -> Tensor:
        """Runs the second half of `forward`, with the `sources` of the same nodes."""


class GATBlock(GraphBlock):
    """Layer of GATv2 (Brody, Alon, Yahav 2022, arXiv:2105.14491) with edge features."""

    def __init__(self, config: GATConfig) -> None:
        super().__init__(config.width)
        self.attention = GATv2(config.width, config.head_width, config.heads, config.edge_width)

    def forward(self, nodes: Tensor, part: Round, labels: Tensor) -> Tensor:
        """Runs the layer by fused code, or elsewhere by torch-geometric.

        Both compute the same function, with other rounding.
        """
        if has_fused_code(self.attention, nodes):
            return super().forward(nodes, part, labels)
        normed = self.norm(nodes)
        ends = torch.stack([part.source.long(), part.rows()])
        between = (normed, normed.index_select(0, part.own))
        return _residual(nodes, part, self.attention(between, ends, labels[part.label]))

    def sources(self, nodes: Tensor) -> Tensor:
        """Projects nodes as sources and as targets of attention."""
        return project(self.norm, *projection(self.attention), nodes)

    def onward(self, nodes: Tensor, sources: Tensor, part: Round, labels: Tensor) -> Tensor:
        """Aggregates by attention, with fused code."""
        return attend(self.attention, nodes, sources, part, labels)


class MessageBlock(GraphBlock):
    """Layer of another kind of message passing."""

    def __init__(self, config: GATConfig, messages: MessagePassing) -> None:
        super().__init__(config.width)
        self.messages = messages

    def sources(self, nodes: Tensor) -> Tensor:
        """Computes the per-node inputs of the messages."""
        return self.messages.sources(self.norm(nodes))

    def onward(self, nodes: Tensor, sources: Tensor, part: Round, labels: Tensor) -> Tensor:
        """Computes and aggregates the messages."""
        return _residual(nodes, part, self.messages(sources, part, labels))


class NodeBlock(GraphBlock):
    """Layer without edges: an MLP on each node, with as many weights as the two sides of GATv2."""

    def __init__(self, config: GATConfig) -> None:
        super().__init__(config.width)
        width = config.width
        self.mlp = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def sources(self, nodes: Tensor) -> Tensor:
        """Computes what each node adds to itself."""
        return self.mlp(self.norm(nodes))

    def onward(self, nodes: Tensor, sources: Tensor, part: Round, labels: Tensor) -> Tensor:
        """Selects the colours of this round."""
        return _residual(nodes, part, sources.index_select(0, part.own))


def _residual(nodes: Tensor, part: Round, gathered: Tensor) -> Tensor:
    """Adds what a round's colours have gathered to their own vectors, float32 [C, width]."""
    return nodes.index_select(0, part.own) + nn.functional.gelu(gathered)


def blocks_of(config: GATConfig) -> list[GraphBlock]:
    """Builds the layers of an encoder; without layers or edges, at least one on nodes alone."""
    if not config.edges or config.layers == 0:
        return [NodeBlock(config) for _ in range(max(config.layers, 1))]
    if config.layer == "gatv2":
        return [GATBlock(config) for _ in range(config.layers)]
    kind = {"gat": GAT, "sage": SAGE, "gin": GIN}[config.layer]
    return [MessageBlock(config, kind(config)) for _ in range(config.layers)]
