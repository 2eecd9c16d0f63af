"""Weights of attention in a graph encoder, node by node and edge by edge.

Encoders work on distinct neighbourhoods; these functions bring what they compute back to the nodes
and edges of one graph.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.attention import attention_shares, has_fused_code
from models.blocks import GATBlock
from models.gat import GATEncoder
from models.graph_view import GraphArrays
from models.refined_graphs import Round


class AttentionWeights(NamedTuple):
    """Weights of attention in a graph of N nodes and E edges, means over heads.

    Attributes:
        nodes: float32 [N], of each node in the pooling; sums to 1.
        links: int64 [E, 2], source and target of the edges.
        forward: float32 [E], of the source among all neighbours of the target, in the last layer.
        backward: float32 [E], of the target among all neighbours of the source; 0 if the encoder
            sees edges from one end.
    """

    nodes: NDArray[np.float32]
    links: NDArray[np.int64]
    forward: NDArray[np.float32]
    backward: NDArray[np.float32]


@torch.inference_mode()
def attention_weights(encoder: GATEncoder, graph: GraphArrays) -> AttentionWeights | None:
    """Returns where an encoder looks in a graph; None if its layers have no such weights.

    Args:
        encoder: The encoder, on the CPU.
        graph: The graph.
    """
    states = encoder.store()
    colours = torch.from_numpy(states.add_graph(graph)).long()
    block = states.block([0], torch.device("cpu"))
    place = torch.searchsorted(block.colours, colours)
    *layers, last = encoder.blocks()
    nodes, labels = encoder.embed(block.rows), encoder.edge_labels()
    for layer, part in zip(layers, block.rounds[:-1], strict=True):
        nodes = layer(nodes, part, labels)
    if not isinstance(last, GATBlock) or not has_fused_code(last.attention, nodes):
        return None
    part = block.rounds[-1]
    sources = last.sources(nodes)
    shares = attention_shares(last.attention, nodes, sources, part, labels)
    after = last.onward(nodes, sources, part, labels)
    pooled = encoder.pooling.weights(after).index_select(0, place)
    links, edge_labels = encoder.view.labelled_edges(graph)
    by_edge = _ByEdge(part, shares.mean(1))
    source, target = torch.from_numpy(links).unbind(1)
    label = torch.from_numpy(edge_labels).long()
    before = part.own.index_select(0, place)
    forward = by_edge.at(place[target], before[source], label)
    backward = torch.zeros_like(forward)
    if encoder.view.edge_directions > 1:
        # What an edge looks like from its source has a label of its own.
        backward = by_edge.at(place[source], before[target], label + encoder.schema.edge_labels)
    share = (pooled / pooled.sum(0)).mean(1)
    return AttentionWeights(share.numpy(), links, forward.numpy(), backward.numpy())


class _ByEdge:
    """Values of the edges of a round, looked up by their ends and label.

    Args:
        part: The round.
        values: float32 [M], by edge. Edges of equal ends and labels have equal values.
    """

    def __init__(self, part: Round, values: Tensor) -> None:
        self._sources = int(part.source.max()) + 1 if len(part.source) else 1
        self._labels = int(part.label.max()) + 1 if len(part.label) else 1
        keys = self._keys(part.rows(), part.source.long(), part.label.long())
        self._sorted, order = keys.sort()
        self._values = values[order]

    def at(self, target: Tensor, source: Tensor, label: Tensor) -> Tensor:
        """Returns the values of edges, float32 [E]."""
        if not len(target):
            return self._values.new_zeros(0)
        return self._values[torch.searchsorted(self._sorted, self._keys(target, source, label))]

    def _keys(self, target: Tensor, source: Tensor, label: Tensor) -> Tensor:
        return (target * self._sources + source) * self._labels + label
