"""Rewards of the environments, each a small object.

A reward maps one step to a number; see ``Reward``. ``resolve_reward`` finds one by name.
"""

from __future__ import annotations

from envs.rewards.by_name import REWARDS, resolve_reward
from envs.rewards.cost import BytesDrop, CostDrop, Shaped, cost_changes
from envs.rewards.op_count import LogDrop, OpCount, OpCountDrop
from envs.rewards.predicted_seconds import PredictedSecondsDrop
from envs.rewards.protocol import (
    ModuleState,
    Reward,
    TimedStates,
    needs_costs,
    needs_seconds,
    timed_states,
)
from envs.rewards.run_time import RunTimeDrop

__all__ = [
    "REWARDS",
    "BytesDrop",
    "CostDrop",
    "LogDrop",
    "ModuleState",
    "OpCount",
    "OpCountDrop",
    "PredictedSecondsDrop",
    "Reward",
    "RunTimeDrop",
    "Shaped",
    "TimedStates",
    "cost_changes",
    "needs_costs",
    "needs_seconds",
    "resolve_reward",
    "timed_states",
]
