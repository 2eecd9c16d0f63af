"""Gradients of a minibatch of distinct states, under a bound on memory.

Whatever is learned, of a policy's own experience or of another's: a minibatch is a set of
distinct states with every transition that visited them. It is worked on in parts, which may go
on at the same time, and a part in groups that fit a budget of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from models.actor_critic import ActorCritic
from models.encoder import StateStore

Loss = Callable[[Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]
"""From rows, int64 [V], and vectors of their states, float32 [V, width], to the loss and to terms
of it, float32 [any], both summed over the rows; and to something whose largest value counts."""


@dataclass(frozen=True)
class MinibatchTerms:
    """What is found beside the gradient."""

    terms: list[float]
    """Means over the minibatch's transitions."""
    largest: float
    """Largest value of what the loss gave last."""
    rows: int
    """Transitions of the minibatch."""
    nodes: int
    """Nodes encoded."""


class _Part(NamedTuple):
    """What is found for some transitions of a minibatch, summed over them."""

    gradients: Sequence[Tensor]
    """By parameter."""
    terms: Tensor
    largest: Tensor
    rows: int
    nodes: int

    @classmethod
    def sum(cls, found: Sequence[_Part]) -> _Part:
        """What is found for all of them together."""
        if len(found) == 1:
            return found[0]
        return cls(
            [torch.stack(each).sum(0) for each in zip(*(g.gradients for g in found), strict=True)],
            torch.stack([g.terms for g in found]).sum(0),
            torch.stack([g.largest for g in found]).max(),
            sum(g.rows for g in found),
            sum(g.nodes for g in found),
        )


class MinibatchGradients:
    """Finds gradients of minibatches.

    What is found depends neither on the threads nor, but for rounding, on the node budget.

    Args:
        policy: Whose gradients.
        threads: Parts of a minibatch that are worked on at the same time. Most operations are
            too short to be shared out themselves.
        parts: Parts of a minibatch.
        node_budget: Distinct nodes encoded at once; a larger graph is encoded alone.
    """

    def __init__(self, policy: ActorCritic, threads: int, parts: int, node_budget: int) -> None:
        self._policy = policy
        self.parameters = list(policy.parameters())
        self._parts, self._node_budget = parts, node_budget
        self._map = ThreadPoolExecutor(threads).map if threads > 1 else map

    def find(
        self, store: StateStore, state: Tensor, chosen: Sequence[int], loss: Loss
    ) -> MinibatchTerms:
        """Leaves the gradient of a minibatch's mean loss in the parameters.

        Args:
            store: The states.
            state: int64 [B], state of each transition, on the policy's device.
            chosen: States of the minibatch: all transitions that visited them belong to it.
            loss: The loss of some transitions.
        """
        size = -(-len(chosen) // self._parts)
        parts = [chosen[first : first + size] for first in range(0, len(chosen), size)]
        found = _Part.sum(list(self._map(lambda part: self._part(store, state, part, loss), parts)))
        for parameter, gradient in zip(self.parameters, found.gradients, strict=True):
            parameter.grad = gradient / found.rows
        # Only now is a value asked of the device: once for all parts.
        means = (found.terms / found.rows).tolist()
        return MinibatchTerms(means, float(found.largest), found.rows, found.nodes)

    def _part(self, store: StateStore, state: Tensor, part: Sequence[int], loss: Loss) -> _Part:
        """Gradients of a part's loss, in groups under the node budget, which bounds memory."""
        found = []
        for group, nodes in store.groups(part, self._node_budget):
            numbers = torch.tensor(group)
            rows, place = _visits(state, numbers, len(store))
            encoded = self._policy.encode(store, numbers)[place]
            value, terms, largest = loss(rows, encoded)
            gradients = torch.autograd.grad(value, self.parameters)
            found.append(_Part(gradients, terms, largest, len(rows), nodes))
        return _Part.sum(found)


def _visits(state: Tensor, chosen: Tensor, states: int) -> tuple[Tensor, Tensor]:
    """Rows that visited any of the chosen states, and the place in `chosen` of each row's."""
    place = state.new_full((states,), -1)
    place[chosen.to(place.device)] = torch.arange(len(chosen), device=place.device)
    rows = (place[state] >= 0).nonzero().squeeze(1)
    return rows, place[state[rows]]
