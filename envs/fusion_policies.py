"""Baselines that decide about fusions without learning: HloEnv's heuristics.

env = gymnasium.make("hlograph/PassDecisions-v0", benchmarks=["step.hlo"])
env.reset()
info = play(env.unwrapped, Greedy())
print(info["kernels"], info["bytes_accessed"])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from envs.pass_decisions import APPLY, KEEP, PassDecisionsEnv
from hlograph.module import Cost


class FusionPolicy(Protocol):
    """Decides about the pair that an environment offers."""

    def __call__(self, env: PassDecisionsEnv) -> int:
        """Returns the action, 0 (keep) or 1 (apply)."""
        ...


class PickFirst:
    """Fuses whatever may be fused, in the order in which it is offered."""

    def __call__(self, env: PassDecisionsEnv) -> int:
        """Returns 1."""
        return APPLY


class Uniform:
    """Fuses every second pair, by chance.

    Args:
        seed: Decides which.
        share: Probability of fusing.
    """

    def __init__(self, seed: int = 0, share: float = 0.5) -> None:
        self._random = np.random.default_rng(seed)
        self._share = share

    def __call__(self, env: PassDecisionsEnv) -> int:
        """Returns 1 with the given probability."""
        return APPLY if self._random.random() < self._share else KEEP


@dataclass(frozen=True, slots=True)
class Greedy:
    """Fuses a pair if that lowers the module's cost by XLA's cost analysis.

    The cost is bytes read and written, and arithmetic in bytes that could be moved meanwhile, so
    that computing a value again for each of its users has a price.

    Attributes:
        bytes_per_flop: What one floating-point operation weighs: a machine that does four in the
            time that it moves a byte.
        bytes_per_transcendental: What one exponential, logarithm or the like weighs: some 20
            operations.
    """

    bytes_per_flop: float = 0.25
    bytes_per_transcendental: float = 5.0

    def __call__(self, env: PassDecisionsEnv) -> int:
        """Returns 1 if the fused module costs less."""
        if env.decision is None:
            return KEEP
        fused = env.module.clone()
        fused.apply(env.decision)
        return APPLY if self.cost(fused.cost()) < self.cost(env.module.cost()) else KEEP

    def cost(self, cost: Cost) -> float:
        """The one number that decides, in bytes."""
        return (
            cost.bytes_accessed
            + self.bytes_per_flop * cost.flops
            + self.bytes_per_transcendental * cost.transcendentals
        )


def play(env: PassDecisionsEnv, policy: FusionPolicy) -> dict[str, Any]:
    """Plays the episode that an environment is in to its end.

    Args:
        env: The environment, reset.
        policy: What decides.

    Returns:
        The info of the last step.
    """
    while True:
        _, _, terminated, truncated, info = env.step(policy(env))
        if terminated or truncated:
            return info
