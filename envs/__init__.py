"""Gymnasium environments over hlograph; importing this registers them.

Example:
    >>> import gymnasium, hlograph.envs
    >>> env = gymnasium.make("hlograph/PassOrdering-v0", benchmarks=["step.hlo"])
"""

from __future__ import annotations

import gymnasium

from envs.pass_decisions import PassDecisionsEnv
from envs.pass_ordering import PassOrderingEnv
from envs.rewards import (
    BytesDrop,
    CostDrop,
    OpCount,
    OpCountDrop,
    PredictedSecondsDrop,
    Reward,
    RunTimeDrop,
    Shaped,
)
from envs.rewrite import RewriteEnv
from envs.run_times import RunTimes
from envs.tuning import TuningEnv
from envs.validation import Validation
from hlograph.decisions.known_no_ops import KnownNoOps
from hlograph.decisions.memory import KnownSteps, NoOpTable
from hlograph.decisions.trajectory import ReplayError, Trajectory

__all__ = [
    "BytesDrop",
    "CostDrop",
    "KnownNoOps",
    "KnownSteps",
    "NoOpTable",
    "OpCount",
    "OpCountDrop",
    "PassDecisionsEnv",
    "PassOrderingEnv",
    "PredictedSecondsDrop",
    "ReplayError",
    "Reward",
    "RewriteEnv",
    "RunTimeDrop",
    "RunTimes",
    "Shaped",
    "Trajectory",
    "TuningEnv",
    "Validation",
]

gymnasium.register(id="hlograph/PassOrdering-v0", entry_point="envs.pass_ordering:PassOrderingEnv")
gymnasium.register(id="hlograph/Rewrite-v0", entry_point="envs.rewrite:RewriteEnv")
gymnasium.register(
    id="hlograph/PassDecisions-v0", entry_point="envs.pass_decisions:PassDecisionsEnv"
)
gymnasium.register(id="hlograph/Tuning-v0", entry_point="envs.tuning:TuningEnv")
