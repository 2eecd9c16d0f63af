"""Graph attention encoder: typed graphs to one vector each.

Layers are GATv2 (Brody, Alon, Yahav 2022, arXiv:2105.14491) of torch-geometric with edge
features, in pre-norm residual blocks (Xiong et al. 2020, arXiv:2002.04745). Nodes whose
neighbourhoods are the same, in whatever states, are encoded once (`hlograph.refinement`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from torch import Tensor, nn

from models.attention import attend, fits_kernel
from models.config import GATConfig
from models.encoder import Encoder, Follower
from models.gat_follower import GATFollower
from models.pooling import Pooling
from models.refined_graphs import POSITION_BUCKETS, Block, GraphSchema, RefinedGraphs, Round


class GATEncoder(Encoder):
    """Encodes graphs by graph attention; nothing but the graph goes in.

    Args:
        schema: The vocabularies of the graphs.
        config: Shape of the encoder.
    """

    def __init__(self, schema: GraphSchema, config: GATConfig) -> None:
        super().__init__()
        self.schema = schema
        width = config.width
        self.node_type = nn.Embedding(schema.node_types, width)
        self.opcode = nn.Embedding(schema.opcodes, width)
        self.element_type = nn.Embedding(schema.element_types, width)
        self.node_features = nn.Linear(schema.node_features, width)
        self.edge_type = nn.Embedding(2 * schema.edge_types, config.edge_width)
        self.edge_position = nn.Embedding(POSITION_BUCKETS, config.edge_width)
        self.layers = nn.ModuleList(GATBlock(config) for _ in range(config.layers))
        self.pooling = Pooling(config)
        self.width = self.pooling.width

    def store(self) -> RefinedGraphs:
        """An empty store of graphs, refined as far as the layers reach."""
        return RefinedGraphs(self.schema, len(self.layers))

    def forward(self, states: RefinedGraphs, numbers: Tensor) -> Tensor:
        """Encodes graphs of a store: float32 [len(numbers), self.width]."""
        return self.encode_block(states.block(numbers.tolist(), self.opcode.weight.device))

    def encode_block(self, block: Block) -> Tensor:
        """Encodes the states of a block that is on the encoder's device."""
        nodes, labels = self.embed(block.rows), self.edge_labels()
        for layer, part in zip(self.blocks(), block.rounds, strict=True):
            nodes = layer(nodes, part, labels)
        return self.pooling(nodes, block.members)

    def embed(self, rows: Tensor) -> Tensor:
        """Vectors of nodes before the first layer: [N, F] to [N, width]."""
        node_type, opcode, element_type = rows[:, :3].long().unbind(1)
        return (
            self.node_type(node_type)
            + self.opcode(opcode)
            + self.element_type(element_type)
            + self.node_features(rows[:, 3:])
        )

    def edge_labels(self) -> Tensor:
        """Features of edges by label, float32 [2 * schema.edge_labels, edge_width]."""
        labels = self.edge_type.weight.unsqueeze(1) + self.edge_position.weight
        return labels.flatten(0, 1)

    def follow(self, states: RefinedGraphs) -> Follower:
        """What encodes added states; on a CPU, only what is new in them."""
        if all(fits_kernel(layer.attention, self.opcode.weight) for layer in self.blocks()):
            return GATFollower(self, states)
        return super().follow(states)

    def blocks(self) -> Iterator[GATBlock]:
        """The layers, as what they are."""
        for layer in self.layers:
            assert isinstance(layer, GATBlock)
            yield layer


class GATBlock(nn.Module):
    """x + GATv2(LayerNorm(x)), with edge features.

    No self-loops are added: the residual keeps a node's own vector, and a self-loop would
    need made-up edge features.
    """

    def __init__(self, config: GATConfig) -> None:
        super().__init__()
        # Importing torch_geometric takes seconds: only who builds an encoder pays them.
        with warnings.catch_warnings():
            # It scripts functions at import, which torch has deprecated.
            warnings.filterwarnings("ignore", "`torch.jit.script", DeprecationWarning)
            from torch_geometric.nn import GATv2Conv

        self.norm = nn.LayerNorm(config.width)
        self.attention = GATv2Conv(
            config.width,
            config.head_width,
            heads=config.heads,
            edge_dim=config.edge_width,
            add_self_loops=False,
        )

    def forward(self, nodes: Tensor, part: Round, labels: Tensor) -> Tensor:
        """Vectors after the layer, float32 [C, width], from those before, [C', width]."""
        attended = attend(self.attention, self.norm(nodes), part, labels)
        return self.after(nodes.index_select(0, part.own), attended)

    def after(self, nodes: Tensor, attended: Tensor) -> Tensor:
        """The residual sum."""
        return nodes + nn.functional.gelu(attended)
