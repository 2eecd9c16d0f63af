"""Encodes typed graphs by graph attention, to one vector each.

Layers are GATv2, or another of `models.blocks`. Nodes with the same neighbourhood, in any state,
are encoded once (`hlograph.graph.refinement`). A layer depends only on a node's own vector and on
the multiset of its neighbours' vectors and edge labels, so such nodes have the same vector.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from hlograph.graph import pooling
from hlograph.graph.edge_labels import POSITION_BUCKETS
from hlograph.graph.encoding import AttentionLayer, EncoderWeights, GraphEncoder
from models.attention import has_fused_code, projection
from models.blocks import GATBlock, GraphBlock, blocks_of
from models.config import LOG_COUNT_SCALE, GATConfig
from models.encoder import Encoder, IncrementalEncoder
from models.gatv2 import GATv2
from models.graph_view import GraphSchema, GraphView
from models.pooling import Pooling
from models.projection import array, normalised
from models.refined_graphs import Block, Members, RefinedGraphs


class GATEncoder(Encoder):
    """Encoder of graphs by graph attention, or by the layers that the settings name.

    Its only input is the graph, and of that only the parts that the settings show.

    Args:
        schema: The vocabularies of the graphs.
        config: Shape of the encoder.
    """

    def __init__(self, schema: GraphSchema, config: GATConfig) -> None:
        super().__init__()
        self.schema, self.edge_width = schema, config.edge_width
        self.view = view = GraphView.of(schema, config)
        width = config.width
        self.node_type = nn.Embedding(schema.node_types, width)
        self.opcode = nn.Embedding(schema.opcodes, width)
        # Parts that are not seen have no parameters.
        self.element_type = self.node_features = None
        if config.attributes:
            self.element_type = nn.Embedding(schema.element_types, width)
            self.node_features = nn.Linear(len(view.columns) - 3, width)
        self.edge_type = self.edge_position = None
        if view.edges:
            self.edge_type = nn.Embedding(
                view.edge_directions * schema.edge_types, config.edge_width
            )
            if config.operand_positions:
                self.edge_position = nn.Embedding(POSITION_BUCKETS, config.edge_width)
        self.layers = nn.ModuleList(blocks_of(config))
        self.pooling = Pooling(config)
        self._shows_counts = config.opcode_counts
        self.width = self.pooling.width + schema.opcodes * config.opcode_counts

    def store(self) -> RefinedGraphs:
        """Returns an empty store of graphs, refined as far as the layers reach."""
        return RefinedGraphs(self.view, len(self.layers))

    def forward(self, states: RefinedGraphs, numbers: Tensor) -> Tensor:
        """Encodes graphs of a store, float32 [len(numbers), self.width]."""
        return self.encode_block(states.block(numbers.tolist(), self.opcode.weight.device))

    def encode_block(self, block: Block) -> Tensor:
        """Encodes the states of a block that is on the encoder's device."""
        return self.pool(self.encode_nodes(block), block)

    def pool(self, nodes: Tensor, block: Block) -> Tensor:
        """Computes vectors of a block's states, float32 [G, self.width], from those of nodes."""
        return self.with_counts(self.pooling(nodes, block.members), block.opcodes)

    def with_counts(self, vectors: Tensor, opcodes: Tensor) -> Tensor:
        """Appends opcode counts, [G, schema.opcodes], to vectors of graphs that show them."""
        if not self._shows_counts:
            return vectors
        return torch.cat([vectors, opcodes.log1p() * LOG_COUNT_SCALE], dim=1)

    def encode_nodes(self, block: Block) -> Tensor:
        """Computes vectors of a block's nodes by their last colour, float32 [C, config.width]."""
        nodes, labels = self.embed(block.rows), self.edge_labels()
        for layer, part in zip(self.blocks(), block.rounds, strict=True):
            nodes = layer(nodes, part, labels)
        return nodes

    def embed(self, rows: Tensor) -> Tensor:
        """Embeds nodes before the first layer: [N, columns of the view] to [N, width]."""
        node_type, opcode = rows[:, :2].long().unbind(1)
        nodes = self.node_type(node_type) + self.opcode(opcode)
        if self.element_type is None or self.node_features is None:
            return nodes
        return nodes + self.element_type(rows[:, 2].long()) + self.node_features(rows[:, 3:])

    def edge_labels(self) -> Tensor:
        """Embeds edge labels, float32 [directions * schema.edge_labels, edge_width]."""
        if self.edge_type is None:
            return self.opcode.weight.new_empty(0, self.edge_width)
        labels = self.edge_type.weight.unsqueeze(1)
        if self.edge_position is None:
            return labels.expand(-1, POSITION_BUCKETS, -1).flatten(0, 1)
        return (labels + self.edge_position.weight).flatten(0, 1)

    def incremental(self, states: RefinedGraphs) -> IncrementalEncoder:
        """Returns an encoder of added states; fused code encodes only nodes that are new."""
        weights = self._fused_weights()
        if weights is None:
            return super().incremental(states)
        return IncrementalGATEncoder(self, states, GraphEncoder(states.refinement, weights))

    @torch.no_grad()
    def _fused_weights(self) -> EncoderWeights | None:
        """Returns the parameters for fused code; None if there is none for this encoder."""
        layers, labels, pooled = list(self.blocks()), self.edge_labels(), self.pooling
        if not pooling.fits(pooled.shape):
            return None
        attention = [
            _attention(block, labels)
            for block in layers
            if isinstance(block, GATBlock) and has_fused_code(block.attention, labels)
        ]
        if len(attention) < len(layers):
            return None
        embeddings, features = [self.node_type, self.opcode], None
        if self.element_type is not None:
            embeddings.append(self.element_type)
            features = self.node_features
        return EncoderWeights(
            embeddings=[array(embedding.weight) for embedding in embeddings],
            features=np.zeros((0, 0), np.float32) if features is None else array(features.weight),
            features_bias=np.zeros(0, np.float32) if features is None else array(features.bias),
            layers=attention,
            negative_slope=GATv2.negative_slope,
            pooling=normalised(pooled.norm, *pooled.projection()),
            shape=pooled.shape,
            count_scale=LOG_COUNT_SCALE,
        )

    def blocks(self) -> Iterator[GraphBlock]:
        """Yields the layers with their type."""
        for layer in self.layers:
            assert isinstance(layer, GraphBlock)
            yield layer


class IncrementalGATEncoder(IncrementalEncoder):
    """Incremental encoder with fused code, which keeps the vectors of all colours of all rounds.

    A pass changes a few instructions, so the state after it has few neighbourhoods that the state
    before it did not have.
    """

    def __init__(self, encoder: GATEncoder, states: RefinedGraphs, fused: GraphEncoder) -> None:
        super().__init__(encoder, states)
        self._whole, self._graphs, self._fused = encoder, states, fused

    def new_vectors(self) -> Tensor:
        """Encodes the states added since the last call, float32 [G, width]."""
        states = self._graphs.members(self._done)
        self._done += len(states)
        members = Members.of(states, np.concatenate([colours for colours, _ in states]))
        opcodes = torch.from_numpy(self._graphs.opcode_counts(states))
        vectors = torch.from_numpy(self._fused.encode(members.entries()))
        return self._whole.with_counts(vectors, opcodes)

    @property
    def node_vectors(self) -> Tensor:
        """Vectors of encoded nodes by their last colour."""
        return torch.from_numpy(self._fused.nodes())


def _attention(block: GATBlock, labels: Tensor) -> AttentionLayer:
    layer = block.attention
    return AttentionLayer(
        normalised(block.norm, *projection(layer)),
        array(layer.lin_edge(labels)),
        array(layer.att.squeeze(0)),
        array(layer.bias),
    )
