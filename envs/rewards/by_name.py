"""Rewards by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from envs.rewards.cost import BytesDrop, CostDrop, Shaped
from envs.rewards.op_count import LogDrop, OpCount, OpCountDrop
from envs.rewards.predicted_seconds import PredictedSecondsDrop
from envs.rewards.protocol import Reward
from envs.rewards.run_time import RunTimeDrop
from hlograph.errors import UnknownNameError

REWARDS: dict[str, Callable[[], Reward]] = {
    "op-count-drop": OpCountDrop,
    "log-drop": LogDrop,
    "op-count": OpCount,
    "cost-drop": CostDrop,
    "shaped": Shaped,
    "bytes-drop": BytesDrop,
    "predicted-seconds-drop": PredictedSecondsDrop,
    "run-time": RunTimeDrop,
    "final-run-time": partial(RunTimeDrop, at_end=True),
}
"""Rewards by name, with their default scale."""


def resolve_reward(reward: str | Reward) -> Reward:
    """Returns the reward of that name, or the object itself.

    Raises:
        UnknownNameError: There is no reward of that name.
    """
    if not isinstance(reward, str):
        return reward
    if reward not in REWARDS:
        raise UnknownNameError.of("reward", reward, REWARDS)
    return REWARDS[reward]()
