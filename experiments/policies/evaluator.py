"""Evaluates a policy in states; each distinct state is encoded once."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from experiments.policies.states import PolicyInput, stacked
from models.actor_critic import ActorCritic
from models.rollout import StateTable


@dataclass(frozen=True)
class Evaluation:
    """Outputs of a policy in N states, with what it saw there; all on the CPU."""

    numbers: list[int]
    """Numbers of the states in the evaluator's table."""
    context: Tensor
    """float32 [N, C]"""
    mask: Tensor
    """bool [N, A]"""
    log_probs: Tensor
    """float32 [N, A]: log-probabilities of the actions."""
    value: Tensor
    """float32 [N]: expected return in scaled reward."""


class PolicyEvaluator:
    """Evaluates a policy whose parameters do not change.

    Args:
        policy: The policy, on any device.
    """

    def __init__(self, policy: ActorCritic) -> None:
        self.table = StateTable(policy)
        """States that were evaluated, and their vectors."""
        self._policy = policy
        self._device = next(policy.parameters()).device

    @torch.no_grad()
    def __call__(self, states: Sequence[PolicyInput]) -> Evaluation:
        """Returns the policy's outputs in states. Those not seen before are encoded together."""
        numbers = self.table.numbers([s.key for s in states], [s.item for s in states])
        context, mask = map(torch.from_numpy, stacked(states))
        log_probs, value = self._policy(
            self.table.vectors(numbers), context.to(self._device), mask.to(self._device)
        )
        return Evaluation(numbers, context, mask, log_probs.cpu(), value.cpu())
