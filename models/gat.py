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

from models.blocks import GraphBlock, blocks_of
from models.config import GATConfig
from models.encoder import Encoder, IncrementalEncoder
from models.graph_view import POSITION_BUCKETS, GraphSchema, GraphView
from models.pooling import Pooling
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
        self.width = self.pooling.width

    def store(self) -> RefinedGraphs:
        """Returns an empty store of graphs, refined as far as the layers reach."""
        return RefinedGraphs(self.view, len(self.layers))

    def forward(self, states: RefinedGraphs, numbers: Tensor) -> Tensor:
        """Encodes graphs of a store, float32 [len(numbers), self.width]."""
        return self.encode_block(states.block(numbers.tolist(), self.opcode.weight.device))

    def encode_block(self, block: Block) -> Tensor:
        """Encodes the states of a block that is on the encoder's device."""
        return self.pooling(self.encode_nodes(block), block.members)

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
        """Returns an encoder of added states, which on a CPU encodes only nodes that are new."""
        if all(layer.keeps_sources(self.opcode.weight) for layer in self.blocks()):
            return IncrementalGATEncoder(self, states)
        return super().incremental(states)

    def blocks(self) -> Iterator[GraphBlock]:
        """Yields the layers with their type."""
        for layer in self.layers:
            assert isinstance(layer, GraphBlock)
            yield layer


class IncrementalGATEncoder(IncrementalEncoder):
    """Incremental encoder that keeps the vectors of all colours of all rounds.

    A pass changes a few instructions, so the state after it has few neighbourhoods that the state
    before it did not have.
    """

    def __init__(self, encoder: GATEncoder, states: RefinedGraphs) -> None:
        super().__init__(encoder, states)
        self._gat, self._graphs = encoder, states
        self._sources = [_Rows() for _ in encoder.blocks()]
        self._nodes = [_Rows() for _ in range(len(self._sources) + 1)]
        self._summands = _Rows()
        with torch.inference_mode():
            self._labels = encoder.edge_labels()

    @torch.inference_mode()
    def new_vectors(self) -> Tensor:
        """Encodes the states added since the last call, float32 [G, width]."""
        self._encode_new_colours()
        states = self._graphs.members(self._done)
        self._done += len(states)
        members = Members.of(states, np.concatenate([colours for colours, _ in states]))
        return self._gat.pooling.finish(members.sum(self._summands.all))

    @property
    def node_vectors(self) -> Tensor:
        """Vectors of encoded nodes by their last colour; valid until the next call."""
        return self._nodes[-1].all

    def _encode_new_colours(self) -> None:
        """Encodes new colours, round by round."""
        refinement, gat = self._graphs.refinement, self._gat
        rows = torch.from_numpy(refinement.rows(len(self._nodes[0])))
        new = self._nodes[0].extend(gat.embed(rows))
        for number, layer in enumerate(gat.blocks()):
            before, sources = self._nodes[number], self._sources[number]
            sources.extend(layer.sources(new))
            part = self._graphs.round(number + 1, len(self._nodes[number + 1]))
            after = layer.onward(before.all, sources.all, part, self._labels)
            new = self._nodes[number + 1].extend(after)
        self._summands.extend(gat.pooling.summands(new))


class _Rows:
    """Matrix that grows by rows in amortised constant time."""

    def __init__(self) -> None:
        self._buffer: Tensor | None = None
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def all(self) -> Tensor:
        """All rows; valid until the next `extend`."""
        assert self._buffer is not None
        return self._buffer[: self._length]

    def extend(self, rows: Tensor) -> Tensor:
        """Appends rows and returns them."""
        length = self._length + len(rows)
        if self._buffer is None:
            self._buffer = rows.clone()
        elif length > len(self._buffer):
            grown = rows.new_empty(max(length, 2 * len(self._buffer)), rows.shape[1])
            grown[: self._length] = self.all
            self._buffer = grown
        self._buffer[self._length : length] = rows
        self._length = length
        return rows
