"""Encodes op counts with a multi-layer perceptron, the paper's baseline."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from models.config import LOG_COUNT_SCALE, OpCountConfig
from models.encoder import Encoder, StateStore


class CountVectors(StateStore):
    """Store of op counts."""

    def __init__(self) -> None:
        self._vectors: list[np.ndarray] = []

    def __len__(self) -> int:
        return len(self._vectors)

    def add(self, items: Sequence[np.ndarray]) -> None:
        """Adds count vectors, float32 [num_opcodes] each."""
        self._vectors += items

    def merge(self, other: "CountVectors", numbers: Sequence[int]) -> None:
        """Adds count vectors of another store."""
        self._vectors += [other._vectors[number] for number in numbers]

    def groups(self, numbers: Sequence[int], budget: int) -> list[tuple[list[int], int]]:
        """Splits states into groups; each state counts as one node."""
        if budget <= 0:
            raise ValueError(f"the node budget has to be positive, got {budget}")
        parts = [list(numbers[i : i + budget]) for i in range(0, len(numbers), budget)]
        return [(part, len(part)) for part in parts]

    def new_nodes(self, numbers: Sequence[int]) -> np.ndarray:
        """Returns ones; see ``StateStore.new_nodes``."""
        return np.ones(len(numbers), int)

    def stacked(self, numbers: Sequence[int]) -> np.ndarray:
        """Returns count vectors, float32 [len(numbers), num_opcodes]."""
        return np.stack([self._vectors[number] for number in numbers])


class OpCountEncoder(Encoder):
    """Encoder of op counts alone, on a log scale.

    Args:
        num_opcodes: Length of a count vector.
        config: Shape of the encoder.
    """

    def __init__(self, num_opcodes: int, config: OpCountConfig) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        width = num_opcodes
        for _ in range(config.layers):
            layers += [nn.Linear(width, config.width), nn.LayerNorm(config.width), nn.GELU()]
            width = config.width
        self.layers = nn.Sequential(*layers)
        self.width = width

    def store(self) -> CountVectors:
        """Returns an empty store of count vectors."""
        return CountVectors()

    def forward(self, states: CountVectors, numbers: Tensor) -> Tensor:
        """Encodes count vectors, float32 [len(numbers), self.width]."""
        counts = torch.from_numpy(states.stacked(numbers.tolist()))
        counts = counts.to(next(self.parameters()).device)
        return self.layers(counts.log1p() * LOG_COUNT_SCALE)
