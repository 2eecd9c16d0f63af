"""The graph encoder without any of what makes it fast: every node of every graph, by
torch-geometric alone."""

import numpy as np
import torch
from torch import Tensor

from models.gat import GATEncoder
from models.refined_graphs import POSITION_BUCKETS, position_bucket


def plain_vector(encoder: GATEncoder, graph) -> Tensor:
    """The vector of one graph: float32 [encoder.width]."""
    nodes = encoder.embed(torch.from_numpy(graph.nodes))
    edges = np.zeros((0, 2)) if graph.edges is None else graph.edges
    links = np.zeros((0, 2), np.int64) if graph.edge_links is None else graph.edge_links
    label = edges[:, 0].astype(np.int64) * POSITION_BUCKETS + position_bucket(edges[:, 1])
    label = torch.from_numpy(np.concatenate([label, label + encoder.schema.edge_labels]))
    edge_index = torch.from_numpy(np.concatenate([links, links[:, ::-1]])).T.contiguous()
    features = encoder.edge_labels()[label]
    for layer in encoder.layers:
        nodes = layer.after(nodes, layer.attention(layer.norm(nodes), edge_index, features))
    summands = encoder.pooling.summands(nodes)
    return encoder.pooling.finish(summands.sum(0, keepdim=True)).squeeze(0)
