"""Defines which parts of a graph an encoder sees, for ablations.

Parts that are not seen are removed before anything is computed or compared. Nothing of them can
leak, and graphs that differ in nothing else are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from hlograph.graph.edge_labels import POSITION_BUCKETS, edge_labels
from models.config import GATConfig

# fmt: off
NEIGHBOUR_FEATURES = frozenset((
    "log_operands", "log_users", "is_root", "has_side_effect", "has_control", "dead", "duplicate",
    "like_operand", "unit_dims_only", "same_opcode_as_operand", "repeated_operand",
    "one_element_operand", "constant_operands", "constant_indices", "zero_operand", "one_operand",
    "uniform", "zero", "one", "prepends_dims", "narrows", "touches_minor_dim",
))
# fmt: on
"""Features of `hlograph.graph.features.NODE_FEATURES` that are computed from other nodes too."""


class GraphArrays(Protocol):
    """Arrays of one graph, as in `gymnasium.spaces.GraphInstance`.

    Attributes:
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
    """Sizes of the vocabularies of a graph's ids."""

    node_types: int
    opcodes: int
    element_types: int
    edge_types: int
    node_features: int
    """Float columns of a node, without the three ids."""
    neighbour_features: frozenset[int] = frozenset()
    """Indices, among the float columns, of features that are computed from other nodes too."""

    @property
    def edge_labels(self) -> int:
        """Number of labels of an edge in one direction: edge types times buckets of positions."""
        return self.edge_types * POSITION_BUCKETS

    @classmethod
    def of_hlograph(cls) -> GraphSchema:
        """Returns the schema of the graphs that `hlograph` makes."""
        from hlograph.graph import features, vocabulary

        floats = features.NODE_FEATURES[3:]
        return cls(
            node_types=len(vocabulary.NODE_TYPES),
            # Computation nodes have no opcode: their id is one past the last.
            opcodes=len(vocabulary.OPCODES) + 1,
            element_types=len(vocabulary.ELEMENT_TYPES),
            edge_types=len(vocabulary.EDGE_TYPES),
            node_features=len(floats),
            neighbour_features=frozenset(map(floats.index, NEIGHBOUR_FEATURES)),
        )


@dataclass(frozen=True)
class GraphView:
    """Parts of a graph that are seen; each flag is that of `GATConfig` with the same name."""

    schema: GraphSchema
    edges: bool = True
    reverse_edges: bool = True
    operand_positions: bool = True
    attributes: bool = True
    neighbour_features: bool = True

    @classmethod
    def of(cls, schema: GraphSchema, config: GATConfig) -> GraphView:
        """Returns the view of an encoder of this shape; without layers, it has no edges."""
        return cls(
            schema,
            edges=config.edges and config.layers > 0,
            reverse_edges=config.reverse_edges,
            operand_positions=config.operand_positions,
            attributes=config.attributes,
            neighbour_features=config.neighbour_features,
        )

    @cached_property
    def columns(self) -> list[int]:
        """Visible columns of a node: two or three ids, and features."""
        if not self.attributes:
            return [0, 1]
        schema = self.schema
        hidden = frozenset() if self.neighbour_features else schema.neighbour_features
        return [0, 1, 2, *(3 + i for i in range(schema.node_features) if i not in hidden)]

    @property
    def edge_directions(self) -> int:
        """Number of ends from which an edge is seen: 0, 1 or 2."""
        return 0 if not self.edges else 1 + self.reverse_edges

    def rows(self, graph: GraphArrays) -> np.ndarray:
        """Returns the visible columns of nodes, float32 [N, len(self.columns)].

        Raises:
            ValueError: The graph's nodes do not fit the schema.
        """
        nodes, width = graph.nodes, 3 + self.schema.node_features
        if nodes.ndim != 2 or nodes.shape[1] != width:
            raise ValueError(f"expected rows of {width} columns, got {nodes.shape}")
        columns = self.columns
        return nodes if len(columns) == width else nodes[:, columns]

    def labelled_edges(self, graph: GraphArrays) -> tuple[np.ndarray, np.ndarray]:
        """Returns visible edges: links, int64 [E, 2], and labels, int32 [E].

        Labels are those of `hlograph.graph.edge_labels`, below `schema.edge_labels`.
        """
        if not self.edges or graph.edges is None or graph.edge_links is None:
            return np.empty((0, 2), np.int64), np.empty(0, np.int32)
        return graph.edge_links, edge_labels(graph.edges, positions=self.operand_positions)
