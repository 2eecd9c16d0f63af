"""Environments of fusion decisions, as a policy that points at candidates plays them."""

from collections.abc import Callable, Sequence

import gymnasium
import numpy as np

from envs import PassDecisionsEnv
from envs.benchmarks import NamedModule
from experiments.policies.config import FusionTrainConfig
from hlograph.isolation import FlightRecorder, Quarantine

ALL_DECISIONS = 1_000_000
"""A horizon that no module reaches, for results: what is left undecided is kept apart."""


class FusionActions(gymnasium.ActionWrapper):
    """Counts actions as such a policy does: 0 takes the candidate, the last leaves it alone.

    Args:
        env: A ``PassDecisionsEnv``.
    """

    def action(self, action: int | np.integer) -> int:
        """The environment's number of an action."""
        return 1 - int(action)


def fusion_env_maker(
    config: FusionTrainConfig,
    benchmarks: Sequence[NamedModule],
    quarantine: Quarantine,
    recorder: FlightRecorder,
    *,
    learns: bool,
) -> Callable[[], FusionActions]:
    """A function that makes environments.

    Args:
        config: Settings of the run.
        benchmarks: What they hold.
        quarantine: What they do not try.
        recorder: Where they note what they try.
        learns: Whether it is experience to learn from. If not, episodes go to their end, and of
            run times the last alone is measured.
    """
    timed = config.reward in ("run-time", "final-run-time")
    env = PassDecisionsEnv(
        benchmarks,
        passes=config.passes,
        reward="final-run-time" if timed and not learns else config.reward,
        horizon=config.horizon if learns else ALL_DECISIONS,
        costs=False,
        quarantine=quarantine,
        recorder=recorder,
    )
    return lambda: FusionActions(env.fork())
