"""Graph attention encoder: typed graphs to one vector each.

Layers are GATv2 (Brody, Alon, Yahav 2022, arXiv:2105.14491) of torch-geometric with edge
features, in pre-norm residual blocks (Xiong et al. 2020, arXiv:2002.04745).
"""

import warnings
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from models.config import LOG_COUNT_SCALE, GATConfig
from models.encoder import Encoder
from models.graph_batch import POSITION_BUCKETS, GraphArrays, GraphBatch, GraphSchema, collate

SHARPNESS = 2.0
"""Standard deviation of the logits of a new pooling layer."""


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

    def size(self, item: GraphArrays) -> int:
        """Number of nodes: what encoding the graph costs."""
        return len(item.nodes)

    def forward(self, items: Sequence[GraphArrays]) -> Tensor:
        """Encodes graphs.

        Args:
            items: G graphs.

        Returns:
            float32 [G, self.width].
        """
        return self.encode_batch(collate(items, self.schema).to(self.opcode.weight.device))

    def encode_batch(self, batch: GraphBatch) -> Tensor:
        """Encodes a batch that is on the encoder's device: float32 [G, self.width]."""
        nodes = (
            self.node_type(batch.node_type)
            + self.opcode(batch.opcode)
            + self.element_type(batch.element_type)
            + self.node_features(batch.node_features)
        )
        edges = self.edge_type(batch.edge_type) + self.edge_position(batch.edge_position)
        for layer in self.layers:
            nodes = layer(nodes, batch.edge_index, edges)
        return self.pooling(nodes, batch.graph_index, batch.num_graphs)


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

    def forward(self, nodes: Tensor, edge_index: Tensor, edges: Tensor) -> Tensor:
        """New node vectors, float32 [N, width], from [N, width], [2, E] and [E, edge_width]."""
        attended = self.attention(self.norm(nodes), edge_index, edges)
        return nodes + nn.functional.gelu(attended)


class Pooling(nn.Module):
    """Attention pooling beside soft counts of learned kinds of node.

    Each head of the attention (as in gated global attention, Li et al. 2016,
    arXiv:1511.05493, normalised over the graph) finds the nodes that matter and averages
    them. An average cannot count, and how often a pattern occurs decides what a pass is
    worth, so the other part sums memberships in learned kinds, on a log scale. log N is
    the count of the kind that every node belongs to.
    """

    def __init__(self, config: GATConfig) -> None:
        super().__init__()
        self.heads = config.heads
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

    def forward(self, nodes: Tensor, graph_index: Tensor, num_graphs: int) -> Tensor:
        """Pools [N, width] to [G, self.width]; `graph_index` is int64 [N]."""
        from torch_geometric.utils import softmax

        nodes = self.norm(nodes)
        weight = softmax(self.gate(nodes), graph_index, num_nodes=num_graphs)
        value = self.value(nodes).view(len(nodes), self.heads, -1)
        pooled = _sum_by_graph((weight.unsqueeze(-1) * value).flatten(1), graph_index, num_graphs)
        member = torch.cat([self.kind(nodes).sigmoid(), torch.ones_like(nodes[:, :1])], dim=1)
        counts = _sum_by_graph(member, graph_index, num_graphs).log1p() * LOG_COUNT_SCALE
        return torch.cat([pooled, counts], dim=1)


def _sum_by_graph(rows: Tensor, graph_index: Tensor, num_graphs: int) -> Tensor:
    """Sums rows [N, C] to [G, C]."""
    return rows.new_zeros(num_graphs, rows.shape[1]).index_add_(0, graph_index, rows)
