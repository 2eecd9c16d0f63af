"""Features of a graph as arrays of floats: the observations of the environments.

They are the columns of ``HloGraph`` in a scale of order one: sizes as logarithms, traits as 0 or 1.
They are computed from the columns, so a saved graph needs no extension for them.
``Module.features`` returns the same arrays directly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph.graph.traits import TRAITS
from hlograph.graph.vocabulary import ATTRIBUTES, EDGE_TYPES, OPCODES

if TYPE_CHECKING:
    from hlograph.graph.hlo_graph import HloGraph

MAX_DIMS = 6
"""Number of dimensions with a feature each, from the last (minor in row-major order) on."""

_IDS = ("node_type", "opcode", "element_type")
_LOGARITHMS = (
    "log_elements",
    "log_bytes",
    *(f"log_dim_{-i}" for i in range(1, MAX_DIMS + 1)),
    "log_operands",
    "log_users",
)
_NUMBERS = ("rank", "contracting_dims", "literal", "is_root", "is_entry")

NODE_FEATURES: tuple[str, ...] = (*_IDS, *_LOGARITHMS, *_NUMBERS, *TRAITS)
"""Columns of ``node_features``. The first three are ids: ``opcode`` of a computation is
``len(OPCODES)``. ``log_*`` is log2(1 + x) / 16, for operands and users log2(1 + x) / 4, with
``log_dim_-1`` for the last dimension and 0 for one that the shape does not have; ``rank`` and
``contracting_dims`` are divided by 4; ``literal`` is sign(x) * log2(1 + |x|) / 4, cut off at
±3, of a scalar or splat literal, else 0; the rest are 0 or 1."""

EDGE_FEATURES: tuple[str, ...] = ("edge_type", "position")
"""Columns of ``edge_features``: the edge type's id, and the position as it is, from 0."""


class GraphFeatures(NamedTuple):
    """Features of a graph as the input of a network.

    Attributes:
        nodes: float32 ``[N, len(NODE_FEATURES)]``.
        edges: float32 ``[E, len(EDGE_FEATURES)]``.
        links: int64 ``[E, 2]``, source and target nodes; its transpose is contiguous.
    """

    nodes: NDArray[np.float32]
    edges: NDArray[np.float32]
    links: NDArray[np.int64]


_COLUMN = {name: i for i, name in enumerate(NODE_FEATURES)}
_FIRST_LOG = len(_IDS)
_FIRST_TRAIT = len(NODE_FEATURES) - len(TRAITS)
_SCALES = np.array(
    [1 / 4 if name in ("log_operands", "log_users") else 1 / 16 for name in _LOGARITHMS],
    dtype=np.float32,
)
_DATA = EDGE_TYPES.index("data")
_CONTRACTING = ATTRIBUTES.index("lhs_contracting_dims")
_LITERAL_INTS = ATTRIBUTES.index("literal_ints")
_LITERAL_FLOATS = ATTRIBUTES.index("literal_floats")


def node_features(graph: HloGraph) -> NDArray[np.float32]:
    """Returns the features of all nodes.

    Returns:
        float32 ``[N, len(NODE_FEATURES)]``, finite; all but the ids are in about [-3, 3].
    """
    nodes = graph.num_nodes
    features = np.empty((nodes, len(NODE_FEATURES)), dtype=np.float32)
    features[:, 0] = graph.node_type
    features[:, 1] = np.where(graph.opcode < 0, len(OPCODES), graph.opcode)
    features[:, 2] = graph.element_type
    ranks = np.diff(graph.dim_offsets)
    features[:, _FIRST_LOG : _FIRST_LOG + len(_LOGARITHMS)] = _logarithms(graph, ranks)
    features[:, _COLUMN["rank"]] = ranks * 0.25
    features[:, _COLUMN["is_root"]] = graph.is_root
    features[:, _COLUMN["is_entry"]] = graph.is_entry
    _fill_attribute_features(graph, features)
    bits = np.unpackbits(
        graph.traits.astype("<u4", copy=False).view(np.uint8).reshape(nodes, 4),
        axis=1,
        bitorder="little",
    )
    features[:, _FIRST_TRAIT:] = bits[:, : len(TRAITS)]
    return features


def _logarithms(graph: HloGraph, ranks: NDArray[np.int64]) -> NDArray[np.float32]:
    """Returns the scaled logarithms, float32 ``[N, len(_LOGARITHMS)]``."""
    sizes = np.zeros((graph.num_nodes, len(_LOGARITHMS)), dtype=np.float32)
    sizes[:, 0] = graph.elements
    sizes[:, 1] = graph.bytes
    _fill_dims(graph, ranks, sizes)
    sizes[:, -2], sizes[:, -1] = _degrees(graph)
    np.maximum(sizes, 0, out=sizes)
    sizes += 1
    np.log2(sizes, out=sizes)
    sizes *= _SCALES
    return sizes


def _fill_dims(graph: HloGraph, ranks: NDArray[np.int64], sizes: NDArray[np.float32]) -> None:
    """Writes the last MAX_DIMS dimensions of each node from column 2 on, the last one first."""
    width = sizes.shape[1]
    # Flat index of a node's dimension i: that of its dimension 0, minus i.
    places = np.arange(1, graph.num_nodes * width + 1, width) + graph.dim_offsets[1:]
    places = np.repeat(places, ranks) - np.arange(len(graph.dim_size))
    dims = graph.dim_size
    if len(ranks) and ranks.max() > MAX_DIMS:
        from_end = np.repeat(graph.dim_offsets[1:], ranks) - np.arange(len(dims))
        is_kept = from_end <= MAX_DIMS
        places, dims = places[is_kept], dims[is_kept]
    sizes.reshape(-1)[places] = dims


def _degrees(graph: HloGraph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the numbers of operands and users of each node; callers are users."""
    nodes = graph.num_nodes
    source, target = graph.edge_index
    # Nearly all edges are data: count all, then subtract the few others.
    others = np.flatnonzero(graph.edge_type != _DATA)
    incoming = np.bincount(target, minlength=nodes)
    operands = incoming - np.bincount(target[others], minlength=nodes)
    users = np.bincount(source, minlength=nodes) - np.bincount(source[others], minlength=nodes)
    first_computation = nodes - graph.num_computations
    users[first_computation:] = incoming[first_computation:]
    return operands, users


def _fill_attribute_features(graph: HloGraph, features: NDArray[np.float32]) -> None:
    features[:, _COLUMN["contracting_dims"]] = 0
    features[:, _COLUMN["literal"]] = 0
    key, offsets = graph.attribute_key, graph.value_offsets
    lengths = np.diff(offsets)
    contracting = np.flatnonzero(key == _CONTRACTING)
    owners = _owners(graph, contracting)
    features[owners, _COLUMN["contracting_dims"]] = lengths[contracting] * 0.25
    is_literal = (key == _LITERAL_INTS) | (key == _LITERAL_FLOATS)
    literals = np.flatnonzero(is_literal & (lengths == 1))
    values = graph.attribute_values[offsets[literals]]
    values = np.where(key[literals] == _LITERAL_FLOATS, values.view(np.float64), values)
    magnitude = np.fmin(np.log2(1 + np.abs(values)) * 0.25, 3)  # 3 for NaN
    features[_owners(graph, literals), _COLUMN["literal"]] = np.copysign(magnitude, values)


def _owners(graph: HloGraph, attributes: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.searchsorted(graph.attribute_offsets, attributes, side="right") - 1


def edge_features(graph: HloGraph) -> NDArray[np.float32]:
    """Returns the features of all edges, in the order of ``graph.edge_index``.

    Returns:
        float32 ``[E, len(EDGE_FEATURES)]``.
    """
    features = np.empty((graph.num_edges, len(EDGE_FEATURES)), dtype=np.float32)
    features[:, 0] = graph.edge_type
    features[:, 1] = graph.edge_position
    return features
