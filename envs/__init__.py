"""Gymnasium environments over hlograph; importing this registers them.

What each environment needs is imported when it is made or asked for.

Example:
    >>> import gymnasium, hlograph.envs
    >>> env = gymnasium.make("hlograph/PassOrdering-v0", benchmarks=["step.hlo"])
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

from hlograph.errors import MissingExtraError

MissingExtraError.check("learn", "gymnasium")

import gymnasium  # noqa: E402

if TYPE_CHECKING:
    from envs.pass_decisions import PassDecisionsEnv as PassDecisionsEnv
    from envs.pass_ordering import PassOrderingEnv as PassOrderingEnv
    from envs.rewards import BytesDrop as BytesDrop
    from envs.rewards import CostDrop as CostDrop
    from envs.rewards import LogDrop as LogDrop
    from envs.rewards import OpCount as OpCount
    from envs.rewards import OpCountDrop as OpCountDrop
    from envs.rewards import PredictedSecondsDrop as PredictedSecondsDrop
    from envs.rewards import Reward as Reward
    from envs.rewards import RunTimeDrop as RunTimeDrop
    from envs.rewards import Shaped as Shaped
    from envs.rewrite import RewriteEnv as RewriteEnv
    from envs.run_times import RunTimes as RunTimes
    from envs.tuning import TuningEnv as TuningEnv
    from envs.validation import Validation as Validation
    from hlograph.decisions.memory import Memory as Memory
    from hlograph.decisions.trajectory import ReplayError as ReplayError
    from hlograph.decisions.trajectory import Trajectory as Trajectory

_LAZY = {
    "BytesDrop": "envs.rewards",
    "CostDrop": "envs.rewards",
    "LogDrop": "envs.rewards",
    "Memory": "hlograph.decisions.memory",
    "OpCount": "envs.rewards",
    "OpCountDrop": "envs.rewards",
    "PassDecisionsEnv": "envs.pass_decisions",
    "PassOrderingEnv": "envs.pass_ordering",
    "PredictedSecondsDrop": "envs.rewards",
    "ReplayError": "hlograph.decisions.trajectory",
    "Reward": "envs.rewards",
    "RewriteEnv": "envs.rewrite",
    "RunTimeDrop": "envs.rewards",
    "RunTimes": "envs.run_times",
    "Shaped": "envs.rewards",
    "Trajectory": "hlograph.decisions.trajectory",
    "TuningEnv": "envs.tuning",
    "Validation": "envs.validation",
}

__all__ = [
    "BytesDrop",
    "CostDrop",
    "LogDrop",
    "Memory",
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


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = resolve_name(f"{_LAZY[name]}:{name}")
    return value


gymnasium.register(id="hlograph/PassOrdering-v0", entry_point="envs.pass_ordering:PassOrderingEnv")
gymnasium.register(id="hlograph/Rewrite-v0", entry_point="envs.rewrite:RewriteEnv")
gymnasium.register(
    id="hlograph/PassDecisions-v0", entry_point="envs.pass_decisions:PassDecisionsEnv"
)
gymnasium.register(id="hlograph/Tuning-v0", entry_point="envs.tuning:TuningEnv")
