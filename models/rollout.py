"""What one iteration of experience is made of: distinct states, and visits to them.

Most steps change nothing, so an iteration visits far fewer distinct states than it has
transitions, and an encoder costs far more than a pass. A transition therefore refers to
its state by number, and everything that encodes does so once for each distinct state.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from models.actor_critic import ActorCritic
from models.node_budget import groups_within_budget


class StateTable:
    """Distinct states of one iteration and their vectors under its parameters.

    Parameters are constant while an iteration collects, so a vector is computed at the
    first visit and read at the others. The table is dropped after the update.

    Args:
        policy: Whose encoder is used.
        node_budget: Nodes encoded at once.
    """

    def __init__(self, policy: ActorCritic, node_budget: int) -> None:
        self.items: list[Any] = []
        self.keys: list[Hashable] = []
        self._policy = policy
        self._node_budget = node_budget
        self._numbers: dict[Hashable, int] = {}
        self._vectors: list[Tensor] = []

    def numbers(self, keys: Sequence[Hashable], items: Sequence[Any]) -> list[int]:
        """Numbers of states; those not seen before are encoded and added.

        Args:
            keys: Identity of each state, such as a module's fingerprint.
            items: What the encoder sees of each state.
        """
        fresh = []
        for key, item in zip(keys, items, strict=True):
            if key not in self._numbers:
                self._numbers[key] = len(self.items)
                self.items.append(item)
                self.keys.append(key)
                fresh.append(item)
        if fresh:
            self._vectors += encode_in_groups(self._policy, fresh, self._node_budget).unbind()
        return [self._numbers[key] for key in keys]

    def vectors(self, numbers: Sequence[int]) -> Tensor:
        """Vectors of states by number: float32 [len(numbers), encoder.width]."""
        return torch.stack([self._vectors[number] for number in numbers])


@torch.no_grad()
def encode_in_groups(policy: ActorCritic, items: Sequence[Any], node_budget: int) -> Tensor:
    """Encodes items without gradients, no more nodes at once than the budget."""
    sizes = [policy.encoder.size(item) for item in items]
    groups = groups_within_budget(sizes, node_budget)
    return torch.cat([policy.encode([items[i] for i in group]) for group in groups])


@dataclass(frozen=True)
class Rollout:
    """T steps of N environments in lockstep, over S distinct states.

    Tensors are on the CPU. `context`, `mask` and `value` describe the state in which
    `action` was taken, the rest what followed.
    """

    items: Sequence[Any]
    """S items, what the encoder sees of each distinct state."""
    keys: Sequence[Hashable]
    """Identity of each of them."""
    state: Tensor
    """int64 [T, N]: number of the state in `items`."""
    context: Tensor
    """float32 [T, N, C]"""
    mask: Tensor
    """bool [T, N, A]: False for actions that could not be taken."""
    action: Tensor
    """int64 [T, N]"""
    log_prob: Tensor
    """float32 [T, N]: of the action, under the policy that acted."""
    value: Tensor
    """float32 [T, N]: of the state, under the critic of the time, in scaled reward."""
    next_value: Tensor
    """float32 [T, N]: of the state that the action led to, before any reset."""
    reward: Tensor
    """float32 [T, N], unscaled."""
    terminated: Tensor
    """bool [T, N]: the episode ended, and no reward can follow."""
    truncated: Tensor
    """bool [T, N]: the episode was cut off by its horizon."""


def merged(rollouts: Sequence[Rollout]) -> Rollout:
    """Rollouts of as many steps side by side, their environments one after the other.

    A state that several of them visited becomes one.

    Args:
        rollouts: What was collected with the same parameters, each over T steps.
    """
    numbers: dict[Hashable, int] = {}
    items: list[Any] = []
    states: list[Tensor] = []
    for rollout in rollouts:
        for key, item in zip(rollout.keys, rollout.items, strict=True):
            if key not in numbers:
                numbers[key] = len(items)
                items.append(item)
        here = torch.tensor([numbers[key] for key in rollout.keys], dtype=torch.int64)
        states.append(here[rollout.state])
    columns = {
        name: torch.cat([getattr(rollout, name) for rollout in rollouts], dim=1)
        for name, value in vars(rollouts[0]).items()
        if isinstance(value, Tensor) and name != "state"
    }
    return Rollout(items=items, keys=list(numbers), state=torch.cat(states, dim=1), **columns)


def state_minibatches(visits: Tensor, count: int, generator: torch.Generator) -> list[Tensor]:
    """Splits visited states at random into sets with about equally many transitions.

    Args:
        visits: int64 [S], how many transitions visited each state; 0 leaves a state out.
        count: Sets to form; fewer come back when states are few or visits uneven.
        generator: Source of the order.

    Returns:
        int64 tensors of state numbers, disjoint, none empty.
    """
    order = torch.randperm(len(visits), generator=generator)
    order = order[visits[order] > 0]
    before = visits[order].cumsum(0) - visits[order]
    part = before * count // visits.sum()
    return [order[part == p] for p in range(count) if (part == p).any()]
