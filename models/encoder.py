"""Defines the interface of encoders to the heads, the rollout and PPO."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn


class StateStore(ABC):
    """Store of distinct states in an encoder's own form, numbered from 0.

    Stores are pickled: workers send the states that they visited as a store.
    """

    @abstractmethod
    def __len__(self) -> int:
        """Returns the number of states."""

    @abstractmethod
    def add(self, items: Sequence[Any]) -> None:
        """Adds states by their observations."""

    @abstractmethod
    def merge(self, other: Any, numbers: Sequence[int]) -> object:
        """Adds states of another store of its kind, by their numbers there."""

    @abstractmethod
    def groups(self, numbers: Sequence[int], budget: int) -> list[tuple[list[int], int]]:
        """Splits states into groups that are encoded within a budget, which bounds memory.

        Args:
            numbers: States.
            budget: Most nodes to encode at once; a state that takes more is a group alone.

        Returns:
            States of each group, together all of them in order, and the nodes it takes.
        """

    @abstractmethod
    def new_nodes(self, numbers: Sequence[int]) -> np.ndarray:
        """Returns how many nodes each state has that those before it have not, int64."""

    def parts(self, numbers: Sequence[int], count: int) -> list[Sequence[int]]:
        """Splits states, in order, into parts that take about equally long to encode.

        Args:
            numbers: States.
            count: Parts to form; fewer come back when states are few or uneven. None is empty.
        """
        new = self.new_nodes(numbers)
        middle = new.cumsum() - new / 2
        part = np.minimum(middle * count / max(new.sum(), 1), count - 1).astype(int)
        ends = np.searchsorted(part, np.arange(count + 1)).tolist()
        return [numbers[begin:end] for begin, end in pairwise(ends) if begin < end]


class Encoder(nn.Module, ABC):
    """Base class of networks that map states (graphs, count vectors) to vectors."""

    width: int
    """Length of a vector."""

    @abstractmethod
    def store(self) -> StateStore:
        """Returns an empty store for this encoder."""

    @abstractmethod
    def forward(self, states: Any, numbers: Tensor) -> Tensor:
        """Encodes states of a store.

        Args:
            states: A store that `self.store` made, or a copy.
            numbers: int64 [G], numbers of states, on the CPU.

        Returns:
            float32 [G, width]; a row depends on its state alone.
        """

    def incremental(self, states: Any) -> IncrementalEncoder:
        """Returns an encoder, with the present parameters, of states added to a store."""
        return IncrementalEncoder(self, states)

    def encode_items(self, items: Sequence[Any]) -> Tensor:
        """Encodes states that are in no store, float32 [len(items), width]."""
        states = self.store()
        states.add(items)
        return self(states, torch.arange(len(states)))


class IncrementalEncoder:
    """Encoder of the states of a store as they are added, without gradients.

    Args:
        encoder: The encoder, whose parameters stay as they are.
        states: The store.
    """

    def __init__(self, encoder: Encoder, states: StateStore) -> None:
        self._encoder, self._states = encoder, states
        self._done = 0

    @torch.inference_mode()
    def new_vectors(self) -> Tensor:
        """Encodes the states added since the last call, float32 [G, width]."""
        first, self._done = self._done, len(self._states)
        return self._encoder(self._states, torch.arange(first, self._done))
