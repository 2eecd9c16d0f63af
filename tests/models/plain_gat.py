"""Computes the graph encoder without its optimisations: every node of every graph, by
torch-geometric alone, on arrays without the parts that the encoder does not see."""

import warnings

import numpy as np
import torch
from torch import Tensor, nn

from hlograph.graph.edge_labels import POSITION_BUCKETS, position_bucket
from models.blocks import GATBlock, MessageBlock, NodeBlock
from models.config import GATConfig
from models.gat import GATEncoder
from models.message_passing import GAT, GIN, SAGE


def plain_vector(encoder: GATEncoder, config: GATConfig, graph) -> Tensor:
    """Returns the vector of one graph: float32 [encoder.width]."""
    nodes = encoder.embed(torch.from_numpy(_seen_columns(encoder, config, graph.nodes)))
    edge_index, label = _seen_edges(encoder, config, graph)
    features = encoder.edge_labels()[label]
    for layer in encoder.blocks():
        gathered = _gathered(layer, layer.norm(nodes), edge_index, features)
        nodes = nodes + nn.functional.gelu(gathered)
    summands = encoder.pooling.summands(nodes)
    return encoder.pooling.finish(summands.sum(0, keepdim=True)).squeeze(0)


def _seen_columns(encoder: GATEncoder, config: GATConfig, nodes: np.ndarray) -> np.ndarray:
    if not config.attributes:
        return nodes[:, :2]
    if config.neighbour_features:
        return nodes
    return np.delete(nodes, [3 + place for place in encoder.schema.neighbour_features], axis=1)


def _seen_edges(encoder: GATEncoder, config: GATConfig, graph) -> tuple[Tensor, Tensor]:
    """Source and target of messages, int64 [2, M], and their labels, int64 [M]."""
    edges, links = graph.edges, graph.edge_links
    if edges is None or not config.edges or not config.layers:
        edges, links = np.zeros((0, 2)), np.zeros((0, 2), np.int64)
    label = edges[:, 0].astype(np.int64) * POSITION_BUCKETS
    if config.operand_positions:
        label = label + position_bucket(edges[:, 1])
    if config.reverse_edges:
        label = np.concatenate([label, label + encoder.schema.edge_labels])
        links = np.concatenate([links, links[:, ::-1]])
    return torch.from_numpy(links).T.contiguous(), torch.from_numpy(label)


def _gathered(layer: nn.Module, nodes: Tensor, edge_index: Tensor, features: Tensor) -> Tensor:
    """Returns the values that a layer adds to its nodes, before the activation."""
    if isinstance(layer, GATBlock):
        return layer.attention(nodes, edge_index, features)
    if isinstance(layer, NodeBlock):
        return layer.mlp(nodes)
    assert isinstance(layer, MessageBlock)
    return _reference(layer.messages, nodes, edge_index, features)


def _reference(messages: nn.Module, nodes: Tensor, edge_index: Tensor, features: Tensor) -> Tensor:
    """torch-geometric's module with the same parameters, gradients included."""
    with warnings.catch_warnings():
        # It scripts functions at import, which torch has deprecated.
        warnings.filterwarnings("ignore", "`torch.jit.script", DeprecationWarning)
        from torch_geometric.nn import GATConv, GINEConv, SAGEConv

    width, edge_width = nodes.shape[1], features.shape[1]
    weights: dict[str, Tensor] = dict(messages.named_parameters())
    if isinstance(messages, GAT):
        heads = messages.heads
        sizes = {"heads": heads, "edge_dim": edge_width, "add_self_loops": False}
        layer = GATConv(width, width // heads, **sizes)
    elif isinstance(messages, GIN):
        mlp = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        layer = GINEConv(mlp, edge_dim=edge_width)
    else:
        assert isinstance(messages, SAGE)
        # It knows no edge features: each message becomes a node of its own.
        source, target = edge_index
        message = (nodes[source] + messages.lin(features)).relu()
        own_edges = torch.stack([torch.arange(len(source)), target])
        layer = SAGEConv((width, width), width)
        del weights["lin.weight"], weights["lin.bias"]
        return torch.func.functional_call(layer, weights, ((message, nodes), own_edges))
    assert set(weights) == {name for name, _ in layer.named_parameters()}
    return torch.func.functional_call(layer, weights, (nodes, edge_index, features))
