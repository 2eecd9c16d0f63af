"""What the heads, the rollout and PPO ask of an encoder."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn


class Encoder(nn.Module, ABC):
    """Turns the items of states (graphs, count vectors) into vectors."""

    width: int
    """Length of a vector."""

    @abstractmethod
    def size(self, item: Any) -> int:
        """What encoding an item costs, in nodes."""

    @abstractmethod
    def forward(self, items: Sequence[Any]) -> Tensor:
        """Encodes items: float32 [len(items), width]; a row depends on its item alone."""
