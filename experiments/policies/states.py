"""States of an environment as policies see them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

STOP = "stop"
"""Name of the action that ends an episode."""


@dataclass(frozen=True)
class PolicyInput:
    """One state of one environment, as a policy sees it."""

    key: str
    """Identity of the state: equal keys have equal items."""
    item: Any
    """Input of the encoder: the graph's arrays, with candidates or without, or op counts, float32
    [num_opcodes]."""
    context: np.ndarray
    """float32 [context_width]: input of the heads beside the encoder's vector."""
    mask: np.ndarray
    """bool [A]: False for actions that are not available here."""


def stacked(states: Sequence[PolicyInput]) -> tuple[np.ndarray, np.ndarray]:
    """Returns the contexts, float32 [N, C], and the masks, bool [N, A], of states."""
    return np.stack([s.context for s in states]), np.stack([s.mask for s in states])
