"""Encodes states with candidates by op counts alone, to compare with those that see the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from models.candidate_graphs import slots_of
from models.config import CandidateConfig, OpCountConfig
from models.encoder import Encoder
from models.op_count_mlp import CountVectors, OpCountEncoder


class CountsAndCandidates(NamedTuple):
    """State that offers candidates, without its graph.

    Attributes:
        counts: float32 [C], op counts and other numbers of at least 0.
        features: float32 [K, F], of each candidate; the first column is the number of its rule.
    """

    counts: np.ndarray
    features: np.ndarray


class CandidateCounts(CountVectors):
    """Store of op counts that also holds the candidates of each state."""

    def __init__(self) -> None:
        super().__init__()
        self._features: list[np.ndarray] = []

    def add(self, items: Sequence[CountsAndCandidates]) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Adds states."""
        super().add([item.counts for item in items])
        self._features += [item.features for item in items]

    def merge(self, other: CountVectors, numbers: Sequence[int]) -> None:
        """Adds states of another store of its kind."""
        assert isinstance(other, CandidateCounts)
        super().merge(other, numbers)
        self._features += [other._features[number] for number in numbers]

    def candidates(self, numbers: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the states, slots and features of the candidates of some states.

        Returns:
            int64 [P], place of its state among those asked for; int64 [P], number among the
            candidates of its state; float32 [P, F].
        """
        features = [self._features[number] for number in numbers]
        return *slots_of(features), torch.from_numpy(np.concatenate(features))


class CandidateCountsEncoder(Encoder):
    """Encodes op counts by an MLP, and each candidate by its own features.

    The vector of a state is laid out as ``models.candidate_encoder.CandidateEncoder``'s.

    Args:
        num_counts: Length of a count vector.
        counts: Shape of the encoder of counts.
        config: Shape of the candidates' vectors.
        slots: Most candidates of a state.
        rules: Number of rules.
        features: Columns of a candidate, the number of its rule among them.
    """

    def __init__(
        self,
        num_counts: int,
        counts: OpCountConfig,
        config: CandidateConfig,
        slots: int,
        rules: int,
        features: int,
    ) -> None:
        super().__init__()
        self.counts = OpCountEncoder(num_counts, counts)
        self.slots, self.candidate_width = slots, config.width
        self.state_width = self.counts.width
        self.rule = nn.Embedding(rules, config.width)
        self.features = nn.Linear(features - 1, config.width)
        self.mix = nn.Sequential(
            nn.LayerNorm(config.width), nn.GELU(), nn.Linear(config.width, config.width)
        )
        self.width = self.state_width + slots * config.width

    def store(self) -> CandidateCounts:
        """Returns an empty store of counts and candidates."""
        return CandidateCounts()

    def forward(self, states: CandidateCounts, numbers: Tensor) -> Tensor:
        """Encodes states of a store, float32 [len(numbers), self.width]."""
        device = self.rule.weight.device
        state, slot, features = (one.to(device) for one in states.candidates(numbers.tolist()))
        vectors = self.rule(features[:, 0].long()) + self.features(features[:, 1:])
        slots = vectors.new_zeros(len(numbers) * self.slots, self.candidate_width)
        slots = slots.index_copy(0, state * self.slots + slot, self.mix(vectors))
        counts = self.counts(states, numbers)
        return torch.cat([counts, slots.view(len(numbers), -1)], dim=1)
