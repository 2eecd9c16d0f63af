"""The encoder of the paper's baseline: a multi-layer perceptron over op counts."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from models.config import LOG_COUNT_SCALE, OpCountConfig
from models.encoder import Encoder


class OpCountEncoder(Encoder):
    """Encodes op counts, on a log scale; nothing but the counts goes in.

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

    def size(self, item: np.ndarray) -> int:
        """Always 1: a count vector costs the same for every module."""
        return 1

    def forward(self, items: Sequence[np.ndarray]) -> Tensor:
        """Encodes count vectors.

        Args:
            items: G vectors of counts, float32 [num_opcodes] each.

        Returns:
            float32 [G, self.width].
        """
        counts = torch.from_numpy(np.stack(items)).to(next(self.parameters()).device)
        return self.layers(counts.log1p() * LOG_COUNT_SCALE)
