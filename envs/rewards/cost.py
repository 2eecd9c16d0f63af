"""Rewards that read XLA's cost analysis.

XLA counts -1 for the flops and bytes of a custom call, whose cost it does not know. So the totals
of a module of custom calls can be negative. Rewards count a negative total as 0, and bound what
they take logarithms of.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from envs.rewards.op_count import OpCountDrop
from envs.rewards.protocol import ModuleState


@dataclass(frozen=True, slots=True)
class BytesDrop:
    """Drop of the bytes that are read and written, in percent of the start.

    This is what fusing kernels saves, by XLA's cost model. The rewards of an episode sum to its
    total reduction, as with ``OpCountDrop``.

    Attributes:
        scale: Reward for accessing no memory at all.
    """

    needs_costs: ClassVar[bool] = True
    scale: float = 100.0

    def __call__(self, start: ModuleState, before: ModuleState, after: ModuleState) -> float:
        """Returns the drop of one step; 0 if the start accesses no memory."""
        start_bytes, bytes_before, bytes_after = (
            max(state.bytes_accessed, 0.0) for state in (start, before, after)
        )
        return _share(self.scale, bytes_before - bytes_after, start_bytes)


@dataclass(frozen=True, slots=True)
class CostDrop:
    """Drop of XLA's cost estimate, in percent of the start: 100 (before - after) / start.

    The estimate is the time that all operations and all transfers take one after the other, by
    ``xla::HloCostAnalysis``; values inside a fusion are not transferred. Source: the form of
    X-RLflow's reward.

    Attributes:
        flops_per_second: Speed of the device; the default is about one core of a CPU.
        transcendentals_per_second: Elements of exp, log, tanh and the like.
        bytes_per_second: Bytes read from or written to memory.
        scale: Reward for reducing the cost to 0.
    """

    needs_costs: ClassVar[bool] = True
    flops_per_second: float = 3e10
    transcendentals_per_second: float = 1e9
    bytes_per_second: float = 1e10
    scale: float = 100.0

    def __call__(self, start: ModuleState, before: ModuleState, after: ModuleState) -> float:
        """Returns the drop of one step; 0 if the start costs nothing."""
        start_time, time_before, time_after = (
            max(self.seconds(state), 0.0) for state in (start, before, after)
        )
        return _share(self.scale, time_before - time_after, start_time)

    def seconds(self, state: ModuleState) -> float:
        """Returns the estimated time of one run, in seconds; linear in the costs."""
        return (
            state.flops / self.flops_per_second
            + state.transcendentals / self.transcendentals_per_second
            + state.bytes_accessed / self.bytes_per_second
        )


@dataclass(frozen=True, slots=True)
class Shaped:
    """Drop of the op count, with potential-based shaping by flops and transcendentals.

    Adds gamma Phi(after) - Phi(before). This does not change the optimal policy for any Phi (Ng,
    Harada and Russell 1999), if gamma is the agent's discount and Phi is 0 in terminal states
    (Grzes 2017, "Reward shaping in episodic reinforcement learning"). Where the horizon truncates
    an episode, Phi is that of the state, because the agent bootstraps from its value.

    Shaping with flops and transcendentals is from "Target-independent XLA optimization using
    Reinforcement Learning", which does not give the form of the potential. Here it is

        Phi(s) = -weight * scale * sum over both costs c of ln((c(s) + n) / (c(start) + n))

    with n the op count at the start: a logarithm, because costs change by factors; plus n, so that
    a program without any flops has a potential too, and one flop more has little effect.

    Attributes:
        gamma: Discount of the agent that learns from the reward.
        weight: Drop of the op count, in percent, that one percent less of a cost is worth. No
            source gives one; passes change costs by a few percent where they drop a fifth of the
            instructions, so at 1 the shaping is the smaller part.
        scale: Reward for removing all instructions.
    """

    needs_costs: ClassVar[bool] = True
    gamma: float = 0.9
    weight: float = 1.0
    scale: float = 100.0

    def __call__(self, start: ModuleState, before: ModuleState, after: ModuleState) -> float:
        """Returns the shaped drop of one step."""
        drop = OpCountDrop(self.scale)(start, before, after)
        return drop + self.gamma * self.potential(start, after) - self.potential(start, before)

    def potential(self, start: ModuleState, state: ModuleState) -> float:
        """Returns Phi of a state: 0 at the start, more where costs are lower."""
        if state.stopped:
            return 0.0
        return -self.weight * self.scale * sum(cost_changes(start, state))


def cost_changes(start: ModuleState, state: ModuleState) -> tuple[float, float]:
    """Returns the changes of flops and of transcendentals since the start.

    Args:
        start: The benchmark at the start of the episode.
        state: The module now.

    Returns:
        ln((c + n) / (c(start) + n)) for both costs c, with n the op count at the start; 0 is no
        change. Both sums are at least 1, also where custom calls make c negative.
    """

    def change(now: float, then: float) -> float:
        return math.log(max(now + start.op_count, 1.0) / max(then + start.op_count, 1.0))

    return (
        change(state.flops, start.flops),
        change(state.transcendentals, start.transcendentals),
    )


def _share(scale: float, drop: float, start: float) -> float:
    return scale * drop / start if start else 0.0
