"""Generalised advantage estimation, with termination and truncation told apart."""

import torch
from torch import Tensor


def generalized_advantages(
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
    gae_lambda: float,
) -> Tensor:
    """Estimates advantages (Schulman et al. 2016, arXiv:1506.02438).

    Termination and truncation both end the sum over later steps, which belong to another episode.
    They differ in the value that follows the last step: after termination it is 0; after
    truncation it is the value of the last state, because the episode would have gone on (Pardo et
    al. 2018, arXiv:1712.00378, partial-episode bootstrapping).

    Args:
        reward: float32 [T, N].
        value: float32 [T, N], values of the states acted in.
        next_value: float32 [T, N], values of the states that followed, before any reset.
        terminated: bool [T, N].
        truncated: bool [T, N].
        gamma: Discount.
        gae_lambda: Decay of the estimate.

    Returns:
        float32 [T, N].
    """
    delta = reward + gamma * next_value * ~terminated - value
    decay = gamma * gae_lambda * ~(terminated | truncated)
    advantage = torch.zeros_like(reward)
    later = torch.zeros_like(reward[0])
    for t in reversed(range(len(reward))):
        later = delta[t] + decay[t] * later
        advantage[t] = later
    return advantage
