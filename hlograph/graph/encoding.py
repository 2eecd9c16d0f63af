"""An encoder of graphs by GATv2 and pooling on the CPU, as one call for all that is new in them.

The vectors of all distinct neighbourhoods are kept, so that graphs which are added to a refinement
cost what is new in them. The functions take and return numpy arrays, as a basis for frameworks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph._native import graphs
from hlograph.graph.dense import Normalised
from hlograph.graph.pooling import PoolingShape
from hlograph.graph.refinement import Refinement
from hlograph.graph.weighted_sums import WeightedEntries

Floats = NDArray[np.float32]


class AttentionLayer(NamedTuple):
    """Layer of GATv2, as ``hlograph.graph.attention.forward``; W is heads * width.

    Attributes:
        projection: The nodes as sources and, in the second half, as targets: 2 W outputs.
        label: float32 ``[L, W]``, the labels of edges that are seen.
        weight: float32 ``[heads, width]``.
        bias: float32 ``[W]``.
    """

    projection: Normalised
    label: Floats
    weight: Floats
    bias: Floats


@dataclass(frozen=True)
class EncoderWeights:
    """Weights of an encoder; W is heads * width, in all layers."""

    embeddings: Sequence[Floats]
    """float32 ``[ids, W]``, one for each of the first columns of a node's row."""
    features: Floats
    """float32 ``[W, F]``, for the other columns; ``[0, 0]`` if they are not seen."""
    features_bias: Floats
    """float32 ``[W]``, or ``[0]``."""
    layers: Sequence[AttentionLayer]
    """As many as the refinement has rounds."""
    negative_slope: float
    """Slope of the leaky ReLU of the layers for negative values."""
    pooling: Normalised
    """To the columns of ``shape``."""
    shape: PoolingShape
    """Has at least one gate beyond those of the heads; the first of them is 0, and counts nodes."""
    count_scale: float
    """Factor of the logarithms of counts."""


class GraphEncoder:
    """Encoder of the graphs of a refinement, which keeps the vectors of all of its colours.

    A graph's vector has, for each head, the mean of its nodes' values by the head's weights, and
    then ``log(1 + x) * count_scale`` of the sums of all kinds and of the number of nodes; see
    ``hlograph.graph.pooling``. It depends on the graph alone, not on what was encoded before, bit
    for bit. Not for several threads at a time.

    Args:
        refinement: The refinement, to which graphs may be added later.
        weights: The weights, which are copied.

    Raises:
        ValueError: The shapes of the weights do not match, or a width is not supported.
    """

    def __init__(self, refinement: Refinement, weights: EncoderWeights) -> None:
        shape = weights.shape
        if len(weights.layers) != refinement.rounds:
            raise ValueError(
                f"expected a layer for each of {refinement.rounds} rounds, got "
                f"{len(weights.layers)}"
            )
        seen = len(weights.embeddings) + weights.features.shape[1]
        if seen > refinement.columns or (weights.features.size and seen < refinement.columns):
            raise ValueError(f"expected rows of {seen} columns, got {refinement.columns}")
        parts = graphs().EncoderParts(
            list(weights.embeddings),
            weights.features,
            weights.features_bias,
            shape.heads,
            shape.width,
            weights.negative_slope,
        )
        for projection, *attention in weights.layers:
            parts.add_layer(*projection, *attention)
        self._encoder = parts.encoder(
            *weights.pooling, shape.kinds, shape.limit, weights.count_scale
        )
        self._refinement = refinement

    def encode(self, members: WeightedEntries) -> Floats:
        """Returns the vectors of graphs, float32 ``[S, W + kinds + 1]``.

        Args:
            members: Colours of the last round of each graph's nodes, with the number of nodes that
                have them.

        Raises:
            IndexError: An id in the row of a node has no vector.
            ValueError: There is no such colour.
        """
        self._encoder.extend(self._refinement.table)
        out = np.empty((len(members.offsets) - 1, self._encoder.graph_width), np.float32)
        self._encoder.encode(*members, out)
        return out

    def nodes(self) -> Floats:
        """Returns the vectors of nodes by their last colour, float32 ``[C, W]``; those encoded."""
        return self._encoder.nodes()
