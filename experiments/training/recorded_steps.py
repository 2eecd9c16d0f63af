"""Decisions to imitate, while they are recorded."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from experiments.policies.states import State
from models.cloning import Demonstrations
from models.encoder import StateStore


@dataclass
class RecordedSteps:
    """Decisions while they are recorded, one row for each."""

    states: StateStore
    keys: list[Hashable] = field(default_factory=list)
    """Identity of each state."""
    numbers: list[int] = field(default_factory=list)
    """Number of the state of each row."""
    episodes: list[int] = field(default_factory=list)
    """Number of the order that each row belongs to."""
    contexts: list[np.ndarray] = field(default_factory=list)
    masks: list[np.ndarray] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)

    def add(self, states: Sequence[State], action: int, returned: float, episode: int) -> None:
        """Adds several views of one state, which differ in the passes that are masked."""
        self.states.add([states[0].item])
        self.keys.append(states[0].key)
        for state in states:
            self.numbers.append(len(self.keys) - 1)
            self.episodes.append(episode)
            self.contexts.append(state.context)
            self.masks.append(state.mask)
            self.actions.append(action)
            self.returns.append(returned)

    def extend(self, other: "RecordedSteps") -> None:
        """Adds the rows of another part."""
        first, orders = len(self.keys), len(set(self.episodes))
        self.states.merge(other.states, range(len(other.keys)))
        self.keys += other.keys
        self.numbers += [first + number for number in other.numbers]
        self.episodes += [orders + episode for episode in other.episodes]
        for name in ("contexts", "masks", "actions", "returns"):
            getattr(self, name).extend(getattr(other, name))

    def demonstrations(self) -> Demonstrations:
        """Returns all rows as tensors."""
        return Demonstrations(
            states=self.states,
            state=torch.tensor(self.numbers),
            episode=torch.tensor(self.episodes),
            context=torch.from_numpy(np.stack(self.contexts)),
            mask=torch.from_numpy(np.stack(self.masks)),
            action=torch.tensor(self.actions),
            returns=torch.tensor(self.returns, dtype=torch.float32),
        )

    @classmethod
    def joined(cls, parts: Sequence["RecordedSteps"]) -> "RecordedSteps":
        """Returns the rows of all parts, which must be one at least; the first part is changed."""
        first, *others = parts
        for other in others:
            first.extend(other)
        return first
