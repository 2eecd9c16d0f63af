"""Export of graphs to PyTorch Geometric and networkx, which are imported when they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hlograph.errors import MissingExtraError
from hlograph.graph.features import node_features
from hlograph.graph.vocabulary import EDGE_TYPES, ELEMENT_TYPES, NODE_TYPES, OPCODES

if TYPE_CHECKING:
    from networkx import MultiDiGraph
    from torch_geometric.data import Data

    from hlograph.graph.hlo_graph import HloGraph

_IDS = 3
"""Number of leading columns of ``node_features`` that are ids."""


def to_pyg(graph: HloGraph) -> Data:
    """Returns the graph for PyTorch Geometric.

    The result is a ``Data`` with typed edges, not a ``HeteroData``: all nodes have the same
    features, and in an HLO module nearly any node type may feed any other, so that each of
    4 x 4 x 4 triples of types, most of them empty, would get a layer. The types are columns for an
    embedding or a relational layer (``RGCNConv``, ``RGATConv``).

    Returns:
        Data with, for N nodes and E edges: ``x`` float32 ``[N, F]``, the columns of
        ``features.NODE_FEATURES`` without the three ids; ``node_type``, ``opcode``
        (``len(OPCODES)`` for computations), ``element_type`` and ``computation`` int64 ``[N]``;
        ``is_root`` and ``is_entry`` bool ``[N]``; ``edge_index`` int64 ``[2, E]``; ``edge_type``
        and ``edge_position`` int64 ``[E]``. ``computation`` counts from 0 in each graph of a
        batch. The tensors share no memory with the graph.

    Raises:
        MissingExtraError: torch-geometric is not installed.
    """
    MissingExtraError.check("learn", "torch", "torch_geometric")
    import torch
    from torch_geometric.data import Data

    def ids(column: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(column.astype(np.int64))

    def flags(column: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(column.copy())

    return Data(
        x=torch.from_numpy(node_features(graph)[:, _IDS:]),
        node_type=ids(graph.node_type),
        opcode=ids(np.where(graph.opcode < 0, len(OPCODES), graph.opcode)),
        element_type=ids(graph.element_type),
        computation=ids(graph.computation),
        is_root=flags(graph.is_root),
        is_entry=flags(graph.is_entry),
        edge_index=ids(graph.edge_index),
        edge_type=ids(graph.edge_type),
        edge_position=ids(graph.edge_position),
    )


def to_networkx(graph: HloGraph) -> MultiDiGraph:
    """Returns the graph for networkx, with names instead of ids.

    Returns:
        MultiDiGraph whose nodes are the numbers from 0, in order, with ``name``, ``type``,
        ``opcode``, ``element_type``, ``dims``, ``layout`` (or None), ``dynamic_dims`` (numbers of
        the dimensions with a dynamic size), ``elements``, ``bytes``, ``computation``, ``is_root``,
        ``is_entry``, ``traits`` (names) and ``attributes`` (a dict, see ``HloGraph.attributes``);
        and whose edges have ``type`` and ``position``. Parallel edges (``add(x, x)``) are kept.

    Raises:
        ImportError: networkx is not installed.
    """
    import networkx

    result = networkx.MultiDiGraph()
    for node in range(graph.num_nodes):
        begin, end = graph.dim_offsets[node : node + 2].tolist()
        result.add_node(
            node,
            name=graph.name(node),
            type=NODE_TYPES[graph.node_type[node]],
            opcode=graph.opcode_name(node),
            element_type=ELEMENT_TYPES[graph.element_type[node]],
            dims=graph.dims(node),
            layout=graph.layout(node),
            dynamic_dims=tuple(np.flatnonzero(graph.dim_is_dynamic[begin:end]).tolist()),
            elements=int(graph.elements[node]),
            bytes=int(graph.bytes[node]),
            computation=int(graph.computation[node]),
            is_root=bool(graph.is_root[node]),
            is_entry=bool(graph.is_entry[node]),
            traits=graph.trait_names(node),
            attributes=graph.attributes(node),
        )
    columns = (*graph.edge_index.tolist(), graph.edge_type.tolist(), graph.edge_position.tolist())
    for source, target, edge_type, position in zip(*columns, strict=True):
        result.add_edge(source, target, type=EDGE_TYPES[edge_type], position=position)
    return result
