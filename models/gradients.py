"""Computes gradients of minibatches of distinct states within bounded memory.

PPO and behavioural cloning share it. A minibatch is a set of distinct states with every transition
that visited them. It is split into parts, which may run at the same time, and a part into groups
that fit a budget of nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import torch
from torch import Tensor, nn

from hlograph.errors import HloError
from models.actor_critic import ActorCritic
from models.encoder import StateStore

Loss = Callable[[Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]
"""Maps rows, int64 [V], and vectors of their states, float32 [V, width], to three tensors: the
loss and its terms, float32 [any], both summed over the rows, and a value whose maximum is kept."""


class NonFiniteGradientError(HloError):
    """Raised when no minibatch of an update has a finite gradient."""


@dataclass(frozen=True)
class MinibatchTerms:
    """Values computed together with the gradient of a minibatch."""

    terms: list[float]
    """Terms of the loss, means over the minibatch's transitions."""
    largest: float
    """Maximum over the minibatch of the third tensor of the loss."""
    rows: int
    """Transitions of the minibatch."""
    nodes: int
    """Nodes encoded."""


class MinibatchGradients:
    """Computes gradients of minibatches and takes steps with them.

    Gradients do not depend on the number of threads. They depend on the node budget only by
    rounding.

    Args:
        policy: The policy that is differentiated.
        threads: Parts of a minibatch that run at the same time. Most operations are too short to
            be divided themselves.
        parts: Parts of a minibatch.
        node_budget: Largest number of distinct nodes to encode at once; a larger graph is encoded
            alone.
    """

    def __init__(self, policy: ActorCritic, threads: int, parts: int, node_budget: int) -> None:
        self._policy = policy
        self.parameters = [each for each in policy.parameters() if each.requires_grad]
        self._parts, self._node_budget = parts, node_budget
        self._map = ThreadPoolExecutor(threads).map if threads > 1 else map

    def find(
        self, store: StateStore, state: Tensor, chosen: Sequence[int], loss: Loss
    ) -> MinibatchTerms:
        """Stores the gradient of a minibatch's mean loss in the parameters' `grad`.

        Args:
            store: The states.
            state: int64 [B], state of each transition, on the policy's device.
            chosen: States of the minibatch: all transitions that visited them belong to it.
            loss: The loss of some transitions.
        """
        parts = store.parts(chosen, self._parts)
        total = _Part.sum(list(self._map(lambda part: self._part(store, state, part, loss), parts)))
        for parameter, gradient in zip(self.parameters, total.gradients, strict=True):
            parameter.grad = gradient / total.rows
        # The device is waited for only here, once for all parts.
        means = (total.terms / total.rows).tolist()
        return MinibatchTerms(means, float(total.largest), total.rows, total.nodes)

    def step(self, optimizer: torch.optim.Optimizer, max_norm: float) -> float | None:
        """Clips the gradient that `find` has stored, and takes a step of the optimizer.

        A gradient with NaN or infinity in it takes no step: it would leave NaN in every
        parameter and in the state of the optimizer.

        Returns:
            Global norm of the gradient before clipping, or None if no step was taken.
        """
        norm = float(nn.utils.clip_grad_norm_(self.parameters, max_norm))
        if not math.isfinite(norm):
            return None
        optimizer.step()
        return norm

    def _part(self, store: StateStore, state: Tensor, part: Sequence[int], loss: Loss) -> _Part:
        """Sums gradients over groups of states that fit the node budget, which bounds memory."""
        sums = []
        for group, nodes in store.groups(part, self._node_budget):
            numbers = torch.tensor(group)
            rows, place = _visits(state, numbers, len(store))
            encoded = self._policy.encode(store, numbers)[place]
            value, terms, largest = loss(rows, encoded)
            gradients = torch.autograd.grad(value, self.parameters)
            sums.append(_Part(gradients, terms, largest, len(rows), nodes))
        return _Part.sum(sums)


class _Part(NamedTuple):
    """Sums over some transitions of a minibatch."""

    gradients: Sequence[Tensor]
    """Gradient of each parameter."""
    terms: Tensor
    largest: Tensor
    rows: int
    nodes: int

    @classmethod
    def sum(cls, addends: Sequence[_Part]) -> _Part:
        """Adds up several parts."""
        if len(addends) == 1:
            return addends[0]
        return cls(
            [reduce(torch.add, each) for each in zip(*(g.gradients for g in addends), strict=True)],
            torch.stack([g.terms for g in addends]).sum(0),
            torch.stack([g.largest for g in addends]).max(),
            sum(g.rows for g in addends),
            sum(g.nodes for g in addends),
        )


def _visits(state: Tensor, chosen: Tensor, states: int) -> tuple[Tensor, Tensor]:
    """Returns the rows that visited any of the chosen states, and each row's place in `chosen`."""
    place = state.new_full((states,), -1)
    place[chosen.to(place.device)] = torch.arange(len(chosen), device=place.device)
    rows = (place[state] >= 0).nonzero().squeeze(1)
    return rows, place[state[rows]]
