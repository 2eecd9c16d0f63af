"""Many graphs as one block-diagonal graph of tensors, with reversed edges added.

The stored graph has every edge once, in the direction of data or control. Attention has
to run both ways (ProGraML, Cummins et al. 2021, arXiv:2003.10536, section 4: backward
edges, and operand positions, each matter), so the batch adds the reverse of each edge
under an edge type of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

EXACT_POSITIONS = 8
POSITION_BUCKETS = EXACT_POSITIONS + 5


class GraphArrays(Protocol):
    """The arrays of one graph, as `gymnasium.spaces.GraphInstance` has them.

    nodes: float32 [N, F]; the first three columns are the ids of node type, opcode and
        element type, the rest are features of order one.
    edges: float32 [E, 2], columns edge type and operand position.
    edge_links: int64 [E, 2], columns source and target node.
    """

    @property
    def nodes(self) -> np.ndarray: ...  # noqa: D102
    @property
    def edges(self) -> np.ndarray | None: ...  # noqa: D102
    @property
    def edge_links(self) -> np.ndarray | None: ...  # noqa: D102


@dataclass(frozen=True)
class GraphSchema:
    """Sizes of the vocabularies that a graph's ids point into."""

    node_types: int
    opcodes: int
    element_types: int
    edge_types: int
    node_features: int
    """Float columns of a node, without the three ids."""

    @classmethod
    def of_hlograph(cls) -> "GraphSchema":
        """The schema of the graphs that `hlograph` makes."""
        from hlograph import features, vocabulary

        return cls(
            node_types=len(vocabulary.NODE_TYPES),
            # Computation nodes have no opcode: their id is one past the last.
            opcodes=len(vocabulary.OPCODES) + 1,
            element_types=len(vocabulary.ELEMENT_TYPES),
            edge_types=len(vocabulary.EDGE_TYPES),
            node_features=len(features.NODE_FEATURES) - 3,
        )


@dataclass(frozen=True)
class GraphBatch:
    """G graphs with N nodes and E edges in all, each edge also reversed."""

    node_type: Tensor
    """int64 [N]"""
    opcode: Tensor
    """int64 [N]"""
    element_type: Tensor
    """int64 [N]"""
    node_features: Tensor
    """float32 [N, F - 3]"""
    edge_index: Tensor
    """int64 [2, 2E]: row 0 the source, row 1 the target"""
    edge_type: Tensor
    """int64 [2E]: type t forwards is t, reversed is edge_types + t"""
    edge_position: Tensor
    """int64 [2E]: bucket of the operand position, below POSITION_BUCKETS"""
    graph_index: Tensor
    """int64 [N]: the graph that each node belongs to, ascending"""
    num_graphs: int

    def to(self, device: torch.device) -> "GraphBatch":
        """The same batch on another device."""
        moved = {k: v.to(device) for k, v in vars(self).items() if isinstance(v, Tensor)}
        return replace(self, **moved)


def position_bucket(position: Tensor) -> Tensor:
    """Buckets operand positions: exact below 8, by powers of two above.

    The first operands have meaning of their own (the condition of a select, the start of
    a slice); the 40th element of a tuple has none, and there may be thousands.

    Args:
        position: int64 of any shape, not negative.

    Returns:
        int64 of the same shape, from 0 to POSITION_BUCKETS - 1.
    """
    doublings = torch.log2(position.clamp(min=EXACT_POSITIONS) / EXACT_POSITIONS).floor().long()
    bucket = torch.where(position < EXACT_POSITIONS, position, EXACT_POSITIONS + doublings)
    return bucket.clamp(max=POSITION_BUCKETS - 1)


def collate(graphs: Sequence[GraphArrays], schema: GraphSchema) -> GraphBatch:
    """Joins graphs into one batch without edges between them.

    Args:
        graphs: At least one graph; graphs may have no edge.
        schema: The vocabularies that their ids point into.

    Raises:
        ValueError: There is no graph, or a node has not the schema's number of features.
    """
    if not graphs:
        raise ValueError("a batch needs at least one graph, got none")
    sizes = np.array([len(graph.nodes) for graph in graphs], dtype=np.int64)
    nodes = torch.from_numpy(np.concatenate([graph.nodes for graph in graphs]))
    if nodes.shape[1] != schema.node_features + 3:
        raise ValueError(
            f"nodes have {nodes.shape[1]} columns, the schema says {schema.node_features + 3}"
        )
    links, edges = _joined_edges(graphs, np.cumsum(sizes) - sizes)
    edge_type, position = edges[:, 0].long(), position_bucket(edges[:, 1].long())
    ids = nodes[:, :3].long()
    return GraphBatch(
        node_type=ids[:, 0],
        opcode=ids[:, 1],
        element_type=ids[:, 2],
        node_features=nodes[:, 3:].contiguous(),
        edge_index=torch.cat([links.T, links.T.flip(0)], dim=1),
        edge_type=torch.cat([edge_type, edge_type + schema.edge_types]),
        edge_position=torch.cat([position, position]),
        graph_index=torch.from_numpy(np.repeat(np.arange(len(sizes)), sizes)),
        num_graphs=len(graphs),
    )


def _joined_edges(graphs: Sequence[GraphArrays], offsets: np.ndarray) -> tuple[Tensor, Tensor]:
    """Links (int64 [E, 2], nodes renumbered by each graph's offset) and edge columns."""
    links = [np.empty((0, 2), np.int64)]
    edges = [np.empty((0, 2), np.float32)]
    for graph, offset in zip(graphs, offsets, strict=True):
        if graph.edges is not None and graph.edge_links is not None:
            links.append(graph.edge_links + offset)
            edges.append(graph.edges)
    return torch.from_numpy(np.concatenate(links)), torch.from_numpy(np.concatenate(edges))
