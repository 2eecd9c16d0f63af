"""Stores one iteration of experience: distinct states, and visits to them.

Most steps change nothing, so an iteration visits far fewer distinct states than it has
transitions, and an encoder costs far more than a pass. A transition therefore refers to its state
by number, and each distinct state is encoded once.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from models.actor_critic import ActorCritic
from models.encoder import StateStore


class StateTable:
    """Table of the distinct states of one iteration, and their vectors.

    Parameters are constant while an iteration collects, so a vector is computed at the
    first visit and read at the others. The table is dropped after the update.

    Args:
        policy: The policy with the encoder.
    """

    def __init__(self, policy: ActorCritic) -> None:
        self.states: StateStore = policy.encoder.store()
        self.keys: list[Hashable] = []
        self._incremental = policy.encoder.incremental(self.states)
        self._numbers: dict[Hashable, int] = {}
        self._vectors: list[Tensor] = []

    def numbers(self, keys: Sequence[Hashable], items: Sequence[Any]) -> list[int]:
        """Returns numbers of states; states not seen before are encoded and added.

        Args:
            keys: Identity of each state, such as a module's fingerprint.
            items: The observation of each state.
        """
        fresh = []
        for key, item in zip(keys, items, strict=True):
            if key not in self._numbers:
                self._numbers[key] = len(self.keys)
                self.keys.append(key)
                fresh.append(item)
        if fresh:
            self.states.add(fresh)
            self._vectors += self._incremental.new_vectors().unbind()
        return [self._numbers[key] for key in keys]

    def vectors(self, numbers: Sequence[int]) -> Tensor:
        """Returns vectors of states by number, float32 [len(numbers), encoder.width]."""
        return torch.stack([self._vectors[number] for number in numbers])


@dataclass(frozen=True)
class Rollout:
    """Experience of T steps of N environments in lockstep, over S distinct states.

    Tensors are on the CPU. `context`, `mask` and `value` describe the state in which
    `action` was taken, the rest what followed.
    """

    states: StateStore
    """S distinct states, in the encoder's own form."""
    keys: Sequence[Hashable]
    """Identity of each state."""
    state: Tensor
    """int64 [T, N]: number of the state in `states`."""
    context: Tensor
    """float32 [T, N, C]"""
    mask: Tensor
    """bool [T, N, A]: False for actions that could not be taken."""
    action: Tensor
    """int64 [T, N]"""
    log_prob: Tensor
    """float32 [T, N]: log-probability of the action under the policy that acted."""
    value: Tensor
    """float32 [T, N]: value of the state in scaled reward, given while collecting."""
    next_value: Tensor
    """float32 [T, N]: value of the state that the action led to, before any reset."""
    reward: Tensor
    """float32 [T, N], unscaled."""
    terminated: Tensor
    """bool [T, N]: the episode ended, and no reward can follow."""
    truncated: Tensor
    """bool [T, N]: the episode was cut off by its horizon."""


def merged(rollouts: Sequence[Rollout]) -> Rollout:
    """Merges rollouts with equally many steps along the axis of environments.

    A state that several of them visited becomes one. The store of the first one takes the
    states of the others.

    Args:
        rollouts: Rollouts collected with the same parameters, each over T steps.
    """
    numbers: dict[Hashable, int] = {}
    store = rollouts[0].states
    states: list[Tensor] = []
    for rollout in rollouts:
        fresh = [place for place, key in enumerate(rollout.keys) if key not in numbers]
        first = len(numbers)
        numbers |= {rollout.keys[place]: first + i for i, place in enumerate(fresh)}
        if rollout.states is not store:
            store.merge(rollout.states, fresh)
        here = torch.tensor([numbers[key] for key in rollout.keys], dtype=torch.int64)
        states.append(here[rollout.state])
    columns = {
        name: torch.cat([getattr(rollout, name) for rollout in rollouts], dim=1)
        for name, value in vars(rollouts[0]).items()
        if isinstance(value, Tensor) and name != "state"
    }
    return Rollout(states=store, keys=list(numbers), state=torch.cat(states, dim=1), **columns)


def state_minibatches(
    state: Tensor, count: int, generator: torch.Generator, whole: bool = False
) -> list[list[int]]:
    """Splits visited states at random into sets with about equally many transitions.

    Args:
        state: int64 [T, N], the states visited in each environment.
        count: Sets to form; fewer come back when states are few or visits uneven.
        generator: Source of the sets.
        whole: True to draw environments instead of states. A state that several of them visited
            is with the first one drawn.

    Returns:
        State numbers, disjoint, no set empty. Within a set, those that one environment visited
        are neighbours: they share most of what there is to encode.
    """
    visits = state.flatten().bincount()
    if whole:
        order = torch.randperm(state.shape[1], generator=generator)
        drawn = torch.tensor(_by_environment(state[:, order]))
    else:
        numbers = visits.nonzero().squeeze(1)
        drawn = numbers[torch.randperm(len(numbers), generator=generator)]
    ends = visits[drawn].cumsum(0)
    part = (ends - visits[drawn]) * count // ends[-1]
    of_state = dict(zip(drawn.tolist(), part.tolist(), strict=True))
    sets: list[list[int]] = [[] for _ in range(count)]
    for number in _by_environment(state):
        sets[of_state[number]].append(number)
    return [numbers for numbers in sets if numbers]


def _by_environment(state: Tensor) -> list[int]:
    """Returns distinct states in the order in which environment after environment visited them."""
    return list(dict.fromkeys(state.T.flatten().tolist()))
