"""Evaluates a policy in states, and chooses the action that it takes when it does not draw."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from experiments.policies.kind import PolicyInput
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

    def of(self, rows: Sequence[int]) -> "Evaluation":
        """Returns the outputs in some of the states, by their rows."""
        if len(rows) == len(self.numbers):
            return self
        columns = (self.context, self.mask, self.log_probs, self.value)
        chosen = (column[list(rows)] for column in columns)
        return Evaluation([self.numbers[row] for row in rows], *chosen)


class PolicyEvaluator:
    """Evaluates a policy whose parameters do not change.

    Args:
        policy: The policy, on any device.
    """

    def __init__(self, policy: ActorCritic) -> None:
        self.table = StateTable(policy)
        """States that were evaluated, and their vectors."""
        self._policy, self._heads = policy, policy.fused_heads()
        self._effect_head = None
        if policy.effects is not None and policy.predicts_effects:
            self._effect_head = policy.effects.fused()
        self._device = next(policy.parameters()).device

    @torch.no_grad()
    def __call__(self, states: Sequence[PolicyInput]) -> Evaluation:
        """Returns the policy's outputs in states. Those not seen before are encoded together."""
        numbers = self._numbers(states)
        return self._outputs(numbers, self.table.vectors(numbers), *_stacked(states))

    @torch.no_grad()
    def foreseeing(
        self, states: Sequence[PolicyInput], recent: np.ndarray, threshold: float
    ) -> tuple[Evaluation, np.ndarray]:
        """Returns the outputs as if all actions predicted to change nothing had been tried.

        Args:
            states: The states, of a policy that knows its actions by name; its context begins with
                the mask.
            recent: float32 [N, A - 1]: see ``models.effects.recency``.
            threshold: Probability that an action makes a difference, below which it is masked.

        Returns:
            The outputs, with these masks; and, bool [N], whether an episode that goes on is
            predicted to find nothing better.

        Raises:
            TypeError: The policy predicts no effects.
        """
        numbers, (context, mask) = self._numbers(states), _stacked(states)
        vectors = self.table.vectors(numbers)
        useless = self._effects(vectors, context, recent) < threshold
        actions = useless[:, :-1]
        context[:, : actions.shape[1]][actions] = 0.0
        mask[:, :-1][actions] = False
        return self._outputs(numbers, vectors, context, mask), useless[:, -1]

    def _numbers(self, states: Sequence[PolicyInput]) -> list[int]:
        """Returns the numbers of states in the table, to which new ones are added."""
        return self.table.numbers([s.key for s in states], [s.item for s in states])

    def _outputs(
        self, numbers: list[int], vectors: Tensor, context: np.ndarray, mask: np.ndarray
    ) -> Evaluation:
        """Evaluates the heads in states of the table, with their contexts and masks."""
        seen = torch.from_numpy(context), torch.from_numpy(mask)
        if self._heads is not None:
            rows = np.concatenate([vectors.numpy(), context], axis=1)
            log_probs, value = map(torch.from_numpy, self._heads.evaluate(rows, mask))
        else:
            log_probs, value = self._policy(vectors, *(part.to(self._device) for part in seen))
        return Evaluation(numbers, *seen, log_probs.cpu(), value.cpu())

    def _effects(self, vectors: Tensor, context: np.ndarray, recent: np.ndarray) -> np.ndarray:
        """Returns the probability that each action makes a difference, float32 [N, A]."""
        effects = self._policy.effects
        if effects is None:
            raise TypeError("expected a policy that knows its actions by name, got one that points")
        if self._effect_head is not None:
            seen = np.concatenate([vectors.numpy(), context], axis=1)
            rows = np.concatenate([seen[:, : effects.inputs], recent], axis=1)
            return torch.from_numpy(self._effect_head.apply(rows)).sigmoid().numpy()
        inputs = (vectors, torch.from_numpy(context), torch.from_numpy(recent))
        logits = effects(*(part.to(self._device) for part in inputs))
        return logits.sigmoid().numpy(force=True)


def _stacked(states: Sequence[PolicyInput]) -> tuple[np.ndarray, np.ndarray]:
    """Returns the contexts and the masks of states."""
    return np.stack([s.context for s in states]), np.stack([s.mask for s in states])


def likeliest(log_probs: Tensor, stop_above: float) -> Tensor:
    """Returns the action of a policy that does not draw: int64 [B].

    Whether to stop is decided first, and then which pass to call. An episode ends where stopping
    is likely enough: that it is likelier than each of ninety passes alone says little.

    Args:
        log_probs: float32 [B, A]; the last action is to stop.
        stop_above: Probability of stopping above which it is chosen.
    """
    stops = log_probs[:, -1] > math.log(stop_above)
    return torch.where(stops, log_probs.shape[1] - 1, log_probs[:, :-1].argmax(1))


def greedy_action(
    log_probs: Tensor,
    mask: np.ndarray,
    stop_above: float,
    taken: Collection[int] = (),
) -> int:
    """Returns the likeliest action of those that were not taken in this state before.

    Args:
        log_probs: float32 [A]; the last action is to stop.
        mask: bool [A], False for actions that are not available.
        stop_above: See ``likeliest``.
        taken: Actions that are not taken again; where no other is left, the episode stops.
    """
    # Of one row, an operation of torch takes ten times as long as one of numpy.
    values, stop = log_probs.numpy(), len(mask) - 1
    if taken:
        fresh = (bool(m) and (a == stop or a not in taken) for a, m in enumerate(mask))
        mask = np.fromiter(fresh, bool, len(mask))
        values = np.where(mask, values, -math.inf)
    if not mask[:stop].any():
        return stop
    return stop if values[stop] > math.log(stop_above) else int(values[:-1].argmax())
