"""The action of a policy that does not draw."""

import math
from collections.abc import Set

import torch
from torch import Tensor

from experiments.policies.kind import PolicyKind
from experiments.policies.states import PolicyInput

STOP_ABOVE = 0.5
"""Probability of stopping above which a greedy episode ends."""


def likeliest(log_probs: Tensor, stop_above: float = STOP_ABOVE) -> Tensor:
    """Returns the action of a policy that does not draw: int64 [B].

    Stopping is one decision, and which pass to call is another. An episode ends where stopping
    is more likely than not: that it is likelier than each of ninety passes alone says little.

    Args:
        log_probs: float32 [B, A]; the last action is to stop.
        stop_above: Probability of stopping above which it is chosen.
    """
    stops = log_probs[:, -1] > math.log(stop_above)
    return torch.where(stops, log_probs.shape[1] - 1, log_probs[:, :-1].argmax(1))


def greedy_action(
    kind: PolicyKind,
    state: PolicyInput,
    log_probs: Tensor,
    taken: Set[int] = frozenset(),
    stop_above: float = STOP_ABOVE,
) -> int:
    """Returns the likeliest action; if the kind avoids repeats, among those not yet taken here.

    Args:
        kind: Kind of the policy.
        state: The state.
        log_probs: float32 [A].
        taken: Actions that the episode took in this state before.
        stop_above: See ``likeliest``.
    """
    if kind.avoids_repeats:
        left = torch.tensor([bool(m) and a not in taken for a, m in enumerate(state.mask)])
        if not left[:-1].any():
            return len(log_probs) - 1
        left[-1] = True
        log_probs = log_probs.where(left, -math.inf)
    return int(likeliest(log_probs[None], stop_above))
