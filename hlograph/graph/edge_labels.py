"""Labels of edges as encoders see them: the edge type, and where an operand stands."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

EXACT_POSITIONS = 8
POSITION_BUCKETS = EXACT_POSITIONS + 5
_FARTHEST = 128  # begins the last bucket
_BUCKETS = np.array(
    [*range(EXACT_POSITIONS), *(p.bit_length() + 4 for p in range(EXACT_POSITIONS, _FARTHEST + 1))],
    dtype=np.int32,
)


def edge_labels(edges: NDArray[np.float32], *, positions: bool = True) -> NDArray[np.int32]:
    """Returns the labels of edges, int32 ``[E]``: edge type * POSITION_BUCKETS + bucket.

    Args:
        edges: float32 ``[E, 2]``, as of ``hlograph.graph.features``.
        positions: False takes the first bucket for all.
    """
    labels = edges[:, 0].astype(np.int32) * POSITION_BUCKETS
    return labels + position_bucket(edges[:, 1]) if positions else labels


def position_bucket(position: NDArray[np.generic]) -> NDArray[np.int32]:
    """Buckets operand positions: exact below 8, by powers of two above.

    The first operands have meaning of their own (the condition of a select, the start of
    a slice); the 40th element of a tuple has none, and there may be thousands.

    Args:
        position: Whole numbers, not negative, of any shape and dtype.

    Returns:
        int32 of the same shape, from 0 to POSITION_BUCKETS - 1.
    """
    return _BUCKETS[np.minimum(position.astype(np.intp), _FARTHEST)]
