"""Graph attention encoder: typed graphs to one vector each.

Layers are GATv2, or another of `models.blocks`. Nodes whose neighbourhoods are the same, in
whatever states, are encoded once (`hlograph.kernels.refinement`): every layer makes of a node what
its own vector and the multiset of its neighbours' vectors and edge labels say, so the same
of equal ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor, nn

from models.blocks import GraphBlock, blocks_of
from models.config import GATConfig
from models.encoder import Encoder, Follower
from models.gat_follower import GATFollower
from models.graph_view import POSITION_BUCKETS, GraphSchema, GraphView
from models.pooling import Pooling
from models.refined_graphs import Block, RefinedGraphs


class GATEncoder(Encoder):
    """Encodes graphs by graph attention, or what the settings put in its place.

    Nothing but the graph goes in, and of it only what the settings leave to see.

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
        # What is not seen has no parameters.
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
        self.width = self.pooling.width

    def store(self) -> RefinedGraphs:
        """An empty store of graphs, refined as far as the layers reach."""
        return RefinedGraphs(self.view, len(self.layers))

    def forward(self, states: RefinedGraphs, numbers: Tensor) -> Tensor:
        """Encodes graphs of a store: float32 [len(numbers), self.width]."""
        return self.encode_block(states.block(numbers.tolist(), self.opcode.weight.device))

    def encode_block(self, block: Block) -> Tensor:
        """Encodes the states of a block that is on the encoder's device."""
        return self.pooling(self.encode_nodes(block), block.members)

    def encode_nodes(self, block: Block) -> Tensor:
        """Vectors of a block's nodes by their last colour: float32 [C, config.width]."""
        nodes, labels = self.embed(block.rows), self.edge_labels()
        for layer, part in zip(self.blocks(), block.rounds, strict=True):
            nodes = layer(nodes, part, labels)
        return nodes

    def embed(self, rows: Tensor) -> Tensor:
        """Vectors of nodes before the first layer: [N, columns of the view] to [N, width]."""
        node_type, opcode = rows[:, :2].long().unbind(1)
        nodes = self.node_type(node_type) + self.opcode(opcode)
        if self.element_type is None or self.node_features is None:
            return nodes
        return nodes + self.element_type(rows[:, 2].long()) + self.node_features(rows[:, 3:])

    def edge_labels(self) -> Tensor:
        """Features of edges by label, float32 [directions * schema.edge_labels, edge_width]."""
        if self.edge_type is None:
            return self.opcode.weight.new_empty(0, self.edge_width)
        labels = self.edge_type.weight.unsqueeze(1)
        if self.edge_position is None:
            return labels.expand(-1, POSITION_BUCKETS, -1).flatten(0, 1)
        return (labels + self.edge_position.weight).flatten(0, 1)

    def follow(self, states: RefinedGraphs) -> Follower:
        """What encodes added states; on a CPU, only what is new in them."""
        if all(layer.keeps_sources(self.opcode.weight) for layer in self.blocks()):
            return GATFollower(self, states)
        return super().follow(states)

    def blocks(self) -> Iterator[GraphBlock]:
        """The layers, as what they are."""
        for layer in self.layers:
            assert isinstance(layer, GraphBlock)
            yield layer
