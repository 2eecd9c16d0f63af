"""HloEnv's heuristics, which decide about fusions without learning.

env = gymnasium.make("hlograph/PassDecisions-v0", benchmarks=["step.hlo"])
env.reset()
info = play(env.unwrapped, Greedy())
print(info["kernels"], info["bytes_accessed"])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from envs.pass_decisions import PassDecisionsEnv
from hlograph.decisions.fusion import APPLY, KEEP
from hlograph.errors import RewriteError
from hlograph.module import Cost


class FusionPolicy(Protocol):
    """Function that decides about the pair that an environment offers."""

    def __call__(self, env: PassDecisionsEnv) -> int:
        """Returns the action, 0 (keep) or 1 (apply)."""
        ...


class PickFirst:
    """Policy that fuses every pair, in the order in which they are offered."""

    def __call__(self, env: PassDecisionsEnv) -> int:
        """Returns 1."""
        return APPLY


class Uniform:
    """Policy that fuses pairs at random.

    Args:
        seed: Seed of the choice.
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
    """Policy that fuses a pair if that lowers the module's cost by XLA's cost analysis.

    The cost is the number of bytes read and written, plus the arithmetic, expressed in bytes that
    could be moved meanwhile. So recomputing a value for each of its users has a price.

    Attributes:
        bytes_per_flop: Cost of one floating-point operation, in bytes; the default is that of a
            machine that does four in the time in which it moves a byte.
        bytes_per_transcendental: Cost of one exponential, logarithm or the like, in bytes; the
            default is that of 20 operations.
    """

    bytes_per_flop: float = 0.25
    bytes_per_transcendental: float = 5.0

    def __call__(self, env: PassDecisionsEnv) -> int:
        """Returns 1 if the fused module costs less."""
        if env.decision is None or not env.action_masks()[APPLY]:
            return KEEP
        fused = env.module.clone()
        try:
            fused.apply(env.decision)
        except RewriteError:  # the environment keeps such a pair, too
            return KEEP
        return APPLY if self.cost(fused.cost()) < self.cost(env.module.cost()) else KEEP

    def cost(self, cost: Cost) -> float:
        """Returns the cost of a module, in bytes."""
        return (
            cost.bytes_accessed
            + self.bytes_per_flop * cost.flops
            + self.bytes_per_transcendental * cost.transcendentals
        )


def play(env: PassDecisionsEnv, policy: FusionPolicy) -> dict[str, Any]:
    """Plays the present episode of an environment to its end.

    Args:
        env: The environment, reset.
        policy: The policy. A pair that it may not fuse, by the action mask, is kept apart.

    Returns:
        Info of the last step.
    """
    while True:
        action = policy(env)
        _, _, terminated, truncated, info = env.step(action if env.action_masks()[action] else KEEP)
        if terminated or truncated:
            return info
