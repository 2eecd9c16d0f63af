"""Rewards of the environments, each a small object that maps one step to a number.

``resolve_reward`` finds one by name. XLA counts -1 for the flops and bytes of a custom call, whose
cost it does not know, so the totals of a module of custom calls can be negative. Rewards count a
negative total as 0, and bound what they take logarithms of.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, NamedTuple, Protocol

from hlograph.errors import UnknownNameError

TimedStates = Literal["none", "last", "all"]
"""States of an episode whose run time a reward needs."""


class ModuleState(NamedTuple):
    """Numbers of a module that rewards are computed from.

    Attributes:
        op_count: Number of instructions in all computations; for fusion decisions, number of
            kernels, at least 1.
        flops: Floating-point operations by XLA's cost model; nan unless the environment was
            made with costs or the reward needs them. XLA's model counts -1 for a custom call,
            whose cost it does not know.
        transcendentals: Elements of exp, log, tanh and the like, by the same model.
        bytes_accessed: Bytes read and written by all instructions, by the same model.
        run_time: Measured time of one run, in units of the start's run time; inf if the module
            does not run, nan if it was not timed.
        stopped: True if the episode terminated here; False if the horizon truncated it.
        seconds: Predicted time of one run, by ``hlograph.Module.seconds``; nan unless the reward
            needs it.
    """

    op_count: int
    flops: float = math.nan
    transcendentals: float = math.nan
    bytes_accessed: float = math.nan
    run_time: float = math.nan
    stopped: bool = False
    seconds: float = math.nan


class Reward(Protocol):
    """Function that maps one step to a number.

    A reward that reads costs declares the class variable ``needs_costs = True``: XLA's cost
    analysis takes about as long as a pass, so that it is run only where it is needed. A reward
    that reads run times declares ``needs_run_times = True``, and ``at_end = True`` if it needs
    that of an episode's last state only: compiling and running takes far longer than a pass. One
    that reads predicted times declares ``needs_seconds = True``.

    Environments and their forks call the same object, so a reward must not keep state.
    """

    def __call__(self, start: ModuleState, before: ModuleState, after: ModuleState) -> float:
        """Returns the reward of one step.

        Args:
            start: The benchmark at the start of the episode.
            before: The module before the step.
            after: The module after the step.
        """
        ...


def needs_costs(reward: Reward) -> bool:
    """Returns True if a reward reads XLA's cost analysis."""
    return getattr(reward, "needs_costs", False)


def needs_seconds(reward: Reward) -> bool:
    """Returns True if a reward reads predicted run times."""
    return getattr(reward, "needs_seconds", False)


def timed_states(reward: Reward) -> TimedStates:
    """Returns which states of an episode a reward needs timed."""
    if not getattr(reward, "needs_run_times", False):
        return "none"
    return "last" if getattr(reward, "at_end", False) else "all"


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
        call_cost: Subtracted for each step but the one that ends the episode, so that an agent
            stops when nothing is left to gain.
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


@dataclass(frozen=True, slots=True)
class PredictedSecondsDrop:
    """Drop of the predicted run time, in percent of the start: 100 (before - after) / start.

    The prediction is ``hlograph.Module.seconds``, which takes microseconds and runs nothing. The
    rewards of an episode sum to its total reduction. They depend on the rates, which
    ``hlograph calibrate`` changes for a machine.

    Attributes:
        scale: Reward for taking no time at all.
    """

    needs_seconds: ClassVar[bool] = True
    scale: float = 100.0

    def __call__(self, start: ModuleState, before: ModuleState, after: ModuleState) -> float:
        """Returns the drop of one step; 0 if no time is predicted for the start."""
        if not start.seconds > 0:
            return 0.0
        return self.scale * (before.seconds - after.seconds) / start.seconds


@dataclass(frozen=True, slots=True)
class RunTimeDrop:
    """Drop of the measured run time, in percent of the start: 100 (before - after) / start.

    Each state is timed once, interleaved with the start (``envs.RunTimes``), so the rewards of an
    episode sum to 100 (start - end) / start of the measured run times. These are noisy: two
    compilations of one program differ by a few percent, and by more the shorter it runs. A reward
    is the difference of two of them. Source: the reward of X-RLflow.

    Attributes:
        at_end: Pays the whole drop with the last step, and only the last state is timed. No
            reward can follow, so the horizon terminates such an episode instead of truncating it.
        unable: Run time, in units of the start's, that is assumed for a state that XLA:CPU does
            not compile or run.
        scale: Reward for taking no time at all.
    """

    needs_run_times: ClassVar[bool] = True
    at_end: bool = False
    unable: float = 2.0
    scale: float = 100.0

    def __call__(self, start: ModuleState, before: ModuleState, after: ModuleState) -> float:
        """Returns the drop of one step; 0 if the state after it was not timed."""
        if math.isnan(after.run_time):
            return 0.0
        last_timed = start if math.isnan(before.run_time) else before
        return self.scale * (self._time(last_timed) - self._time(after))

    def _time(self, state: ModuleState) -> float:
        return self.unable if math.isinf(state.run_time) else state.run_time


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
