"""Evaluates a policy in states, and chooses the action that it takes when it does not draw."""

import math
from collections.abc import Collection, Mapping, Sequence
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
        self._effects = None
        if policy.effects is not None and policy.predicts_effects:
            self._effects = policy.effects.fused()
        self._device = next(policy.parameters()).device

    @torch.no_grad()
    def __call__(self, states: Sequence[PolicyInput]) -> Evaluation:
        """Returns the policy's outputs in states. Those not seen before are encoded together."""
        numbers = self.table.numbers([s.key for s in states], [s.item for s in states])
        context, mask = np.stack([s.context for s in states]), np.stack([s.mask for s in states])
        return self._outputs(numbers, context, mask)

    @torch.no_grad()
    def retried(self, seen: Evaluation, tried: Mapping[int, int]) -> Evaluation:
        """Returns the outputs as if some actions had been tried and had changed nothing.

        Args:
            seen: The outputs, of a policy that knows its actions by name; its context begins with
                the mask.
            tried: Number of the action, by row.
        """
        context, mask = seen.context.numpy().copy(), seen.mask.numpy().copy()
        at = list(tried), list(tried.values())
        context[at] = mask[at] = False
        return self._outputs(seen.numbers, context, mask)

    def _outputs(self, numbers: list[int], context: np.ndarray, mask: np.ndarray) -> Evaluation:
        """Evaluates the heads in states of the table, with their contexts and masks."""
        vectors = self.table.vectors(numbers)
        seen = torch.from_numpy(context), torch.from_numpy(mask)
        if self._heads is not None:
            rows = np.concatenate([vectors.numpy(), context], axis=1)
            log_probs, value = map(torch.from_numpy, self._heads.evaluate(rows, mask))
        else:
            log_probs, value = self._policy(vectors, *(part.to(self._device) for part in seen))
        return Evaluation(numbers, *seen, log_probs.cpu(), value.cpu())

    @torch.no_grad()
    def effects(self, seen: Evaluation, recent: np.ndarray) -> np.ndarray:
        """Returns the probability that each action makes a difference, float32 [N, A].

        Args:
            seen: The states.
            recent: float32 [N, A - 1]: see ``models.effects.recency``.

        Raises:
            TypeError: The policy predicts no effects.
        """
        if self._policy.effects is None:
            raise TypeError("expected a policy that knows its actions by name, got one that points")
        inputs = (self.table.vectors(seen.numbers), seen.context, torch.from_numpy(recent))
        if self._effects is not None:
            width = self._policy.effects.inputs
            rows = np.concatenate([torch.cat(inputs[:2], dim=1).numpy()[:, :width], recent], axis=1)
            return torch.from_numpy(self._effects.apply(rows)).sigmoid().numpy()
        logits = self._policy.effects(*(part.to(self._device) for part in inputs))
        return logits.sigmoid().numpy(force=True)


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
