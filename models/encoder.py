"""What the heads, the rollout and PPO ask of an encoder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn


class StateStore(ABC):
    """Distinct states in the form in which an encoder works on them; numbered from 0.

    Stores are pickled: what a worker has seen travels as one.
    """

    @abstractmethod
    def __len__(self) -> int:
        """Number of states."""

    @abstractmethod
    def add(self, items: Sequence[Any]) -> None:
        """Adds states by what is observed of them."""

    @abstractmethod
    def merge(self, other: Any, numbers: Sequence[int]) -> None:
        """Adds those states of another store of its kind that have these numbers there."""

    @abstractmethod
    def prepare(self, device: torch.device) -> None:
        """Puts what the states share on a device, before several threads encode them there."""

    @abstractmethod
    def groups(self, numbers: Sequence[int], budget: int) -> list[tuple[list[int], int]]:
        """Splits states into groups that are encoded within a budget, so bounded in memory.

        Args:
            numbers: States.
            budget: Most nodes to encode at once; a state that takes more is a group alone.

        Returns:
            States of each group, together all of them in order, and the nodes it takes.
        """


class Encoder(nn.Module, ABC):
    """Turns states (graphs, count vectors) into vectors."""

    width: int
    """Length of a vector."""

    @abstractmethod
    def store(self) -> StateStore:
        """An empty store for this encoder."""

    @abstractmethod
    def forward(self, states: Any, numbers: Tensor) -> Tensor:
        """Encodes states of a store.

        Args:
            states: A store that `self.store` made, or a copy.
            numbers: int64 [G], numbers of states, on the CPU.

        Returns:
            float32 [G, width]; a row depends on its state alone.
        """

    def follow(self, states: Any) -> Follower:
        """What encodes the states of a store as they are added, with the parameters of now."""
        return Follower(self, states)

    def encode_items(self, items: Sequence[Any]) -> Tensor:
        """Encodes states that are in no store: float32 [len(items), width]."""
        states = self.store()
        states.add(items)
        return self(states, torch.arange(len(states)))


class Follower:
    """Encodes the states of a store as they are added, without gradients.

    Args:
        encoder: The encoder, whose parameters stay as they are.
        states: The store.
    """

    def __init__(self, encoder: Encoder, states: StateStore) -> None:
        self._encoder, self._states = encoder, states
        self._done = 0

    @torch.inference_mode()
    def new_vectors(self) -> Tensor:
        """Vectors of the states added since the last call: float32 [G, width]."""
        first, self._done = self._done, len(self._states)
        return self._encoder(self._states, torch.arange(first, self._done))
