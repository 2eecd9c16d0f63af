"""Rewards that count instructions."""

from __future__ import annotations

import math
from dataclasses import dataclass

from envs.rewards.protocol import ModuleState


@dataclass(frozen=True, slots=True)
class OpCountDrop:
    """Drop of the op count, in percent of the start: 100 (before - after) / start.

    This is the difference of a potential, so the rewards of an episode sum to its total
    reduction. Source: the reward of X-RLflow, on op counts.

    Attributes:
        scale: Reward for removing all instructions.
    """

    scale: float = 100.0

    def __call__(self, start: ModuleState, before: ModuleState, after: ModuleState) -> float:
        """Returns the drop of one step."""
        return self.scale * (before.op_count - after.op_count) / start.op_count


@dataclass(frozen=True, slots=True)
class LogDrop:
    """Drop of the op count's logarithm, in percent: 100 ln(before / after), less a cost per call.

    The rewards of an episode sum to 100 ln(start / end), so an agent without discount maximizes
    the geometric mean of the count ratio: a drop by one percent is worth the same anywhere in an
    episode.

    Attributes:
        scale: Reward for a count that is smaller by the factor e.
        call_cost: Subtracted for each pass call, so that an agent stops when nothing is left to
            gain.
    """

    scale: float = 100.0
    call_cost: float = 0.02

    def __call__(self, start: ModuleState, before: ModuleState, after: ModuleState) -> float:
        """Returns the reward of one step."""
        drop = self.scale * math.log(before.op_count / after.op_count)
        return drop if after.stopped else drop - self.call_cost


@dataclass(frozen=True, slots=True)
class OpCount:
    """Negative op count after each step, in units of the start: -after / start.

    Source: "Target-independent XLA optimization using Reinforcement Learning", which scales the
    negative count. Here the scale is the start's count, so that graphs of all sizes weigh the
    same.

    Attributes:
        scale: Negative reward of a step that leaves the start's op count.
    """

    scale: float = 1.0

    def __call__(self, start: ModuleState, before: ModuleState, after: ModuleState) -> float:
        """Returns the negative count after a step."""
        return -self.scale * after.op_count / start.op_count
