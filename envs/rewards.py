"""Rewards of the pass-ordering environment, each a small object."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, NamedTuple, Protocol

from hlograph.errors import UnknownNameError
from hlograph.names import unknown


class ModuleState(NamedTuple):
    """What a reward sees of a module.

    Attributes:
        op_count: Instructions in all computations.
        flops: Floating-point operations by XLA's cost model; nan unless the environment was
            made with costs or the reward needs them.
        transcendentals: Elements of exp, log, tanh and the like, by the same model.
        bytes_accessed: Bytes read and written by all instructions, by the same model.
        run_time: Measured time of one run in units of the start's; inf of a module that does not
            run, nan unless the reward needs it now.
        stopped: Whether the episode ended here for good: not of one that its horizon cut off.
    """

    op_count: int
    flops: float = math.nan
    transcendentals: float = math.nan
    bytes_accessed: float = math.nan
    run_time: float = math.nan
    stopped: bool = False


class Reward(Protocol):
    """Maps one step to a number.

    One that reads flops or transcendentals says so with a class variable ``needs_costs = True``:
    XLA's cost analysis takes about as long as a pass, so it is run for those alone. One that reads
    run times has ``needs_run_times = True`` and says with ``at_end`` whether those of the last
    state of an episode will do: compiling and running takes far longer than a pass.
    """

    def __call__(self, start: ModuleState, before: ModuleState, after: ModuleState) -> float:
        """Returns the reward of one step.

        Args:
            start: The benchmark as the episode began.
            before: The module before the step.
            after: The module after it.
        """
        ...


@dataclass(frozen=True, slots=True)
class OpCountDrop:
    """Drop of the op count, in percent of the start: 100 (before - after) / start.

    The difference of a potential: an episode's rewards sum to its total
    reduction, whatever the order. Source: the reward of X-RLflow, on op counts.

    Attributes:
        scale: Reward for removing everything.
    """

    scale: float = 100.0

    def __call__(self, start: ModuleState, before: ModuleState, after: ModuleState) -> float:
        """Returns the drop of one step."""
        return self.scale * (before.op_count - after.op_count) / start.op_count


@dataclass(frozen=True, slots=True)
class LogDrop:
    """Drop of the op count's logarithm, in percent: 100 ln(before / after), less a call's cost.

    Summed over an episode it is 100 ln(start / end), so an agent that does not discount maximises
    the count ratio's geometric mean itself: one percent less is worth the same on the way and at
    the end.

    Attributes:
        scale: Reward for a count that is smaller by the factor e.
        call_cost: Taken for each pass call, so that an agent stops when nothing is left to gain.
    """

    scale: float = 100.0
    call_cost: float = 0.02

    def __call__(self, start: ModuleState, before: ModuleState, after: ModuleState) -> float:
        """Returns the reward of one step."""
        drop = self.scale * math.log(before.op_count / after.op_count)
        return drop if after.stopped else drop - self.call_cost


@dataclass(frozen=True, slots=True)
class BytesDrop:
    """Drop of the bytes that are read and written, in percent of the start.

    What fusing kernels saves, by XLA's cost model; sums to the episode's total as ``OpCountDrop``.

    Attributes:
        scale: Reward for touching no memory any more.
    """

    needs_costs: ClassVar[bool] = True
    scale: float = 100.0

    def __call__(self, start: ModuleState, before: ModuleState, after: ModuleState) -> float:
        """Returns the drop of one step; 0 for a program that touches no memory."""
        drop = before.bytes_accessed - after.bytes_accessed
        return self.scale * drop / start.bytes_accessed if start.bytes_accessed else 0.0


@dataclass(frozen=True, slots=True)
class OpCount:
    """Negative op count after each step, in units of the start: -after / start.

    Source: "Target-independent XLA optimization using Reinforcement Learning",
    which scales the negative count; here by the start, so that graphs of all
    sizes weigh the same.

    Attributes:
        scale: Reward of a step that leaves the start's op count, negated.
    """

    scale: float = 1.0

    def __call__(self, start: ModuleState, before: ModuleState, after: ModuleState) -> float:
        """Returns the negative count after a step."""
        return -self.scale * after.op_count / start.op_count


@dataclass(frozen=True, slots=True)
class CostDrop:
    """Drop of XLA's cost estimate, in percent of the start: 100 (before - after) / start.

    The estimate is the time that all operations and all transfers take one after the other, by
    ``xla::HloCostAnalysis``; what is fused transfers nothing in between. Source: the form of
    X-RLflow's reward.

    Attributes:
        flops_per_second: Of the device; the default is about one core of a CPU.
        transcendentals_per_second: Elements of exp, log, tanh and the like.
        bytes_per_second: Read from or written to memory.
        scale: Reward for coming down to no cost at all.
    """

    needs_costs: ClassVar[bool] = True
    flops_per_second: float = 3e10
    transcendentals_per_second: float = 1e9
    bytes_per_second: float = 1e10
    scale: float = 100.0

    def __call__(self, start: ModuleState, before: ModuleState, after: ModuleState) -> float:
        """Returns the drop of one step; 0 of a program that costs nothing."""
        drop = self.seconds(before) - self.seconds(after)
        return self.scale * drop / self.seconds(start) if drop else 0.0

    def seconds(self, state: ModuleState) -> float:
        """The estimate for a state."""
        return (
            state.flops / self.flops_per_second
            + state.transcendentals / self.transcendentals_per_second
            + state.bytes_accessed / self.bytes_per_second
        )


@dataclass(frozen=True, slots=True)
class RunTimeDrop:
    """Drop of the measured run time, in percent of the start: 100 (before - after) / start.

    Each state is timed in turn with the start, and once (``envs.RunTimes``), so an episode's
    rewards sum to 100 (start - end) / start with the run times that were measured, whatever the
    way. These are noisy: two compilations of one program differ by a few percent, the more the
    shorter it runs, and a reward is the difference of two of them. Source: the reward of X-RLflow.

    Attributes:
        at_end: Pays all of it with the last step, which alone is timed then. Once it is paid
            nothing more can follow, so the horizon terminates such an episode.
        unable: What a state counts as that XLA:CPU does not compile or run, in run times of the
            start.
        scale: Reward for taking no time at all.
    """

    needs_run_times: ClassVar[bool] = True
    at_end: bool = False
    unable: float = 2.0
    scale: float = 100.0

    def __call__(self, start: ModuleState, before: ModuleState, after: ModuleState) -> float:
        """Returns the drop of one step; since the last timed state, where few are timed."""
        if math.isnan(after.run_time):
            return 0.0
        last = start if math.isnan(before.run_time) else before
        return self.scale * (self._time(last) - self._time(after))

    def _time(self, state: ModuleState) -> float:
        return self.unable if math.isinf(state.run_time) else state.run_time


@dataclass(frozen=True, slots=True)
class Shaped:
    """Drop of the op count, and potential-based shaping by flops and transcendentals.

    Adds gamma Phi(after) - Phi(before), which leaves the best policy what it is whatever Phi is
    (Ng, Harada and Russell 1999), if gamma is the agent's discount and Phi is 0 where an episode
    ends for good (Grzes 2017, "Reward shaping in episodic reinforcement learning"). Where the
    horizon cuts an episode off, Phi is that of the state, for the agent goes on from its value.

    That flops and transcendentals are shaped with is from "Target-independent XLA optimization
    using Reinforcement Learning". The form of the potential is not known from there; here

        Phi(s) = -weight * scale * sum over both costs c of ln((c(s) + n) / (c(start) + n))

    with n the op count at the start: a logarithm, because costs change by factors; n, so that a
    program without any flops has a potential too, and one flop more means little.

    Attributes:
        gamma: Discount of the agent that learns from it.
        weight: Drop of the op count, in percent, that one percent less of a cost is worth. No
            source gives one; passes change costs by a few percent where they drop a fifth of the
            instructions, so at 1 the shaping is the smaller part.
        scale: Reward for removing everything.
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
        """Phi of a state: 0 at the start, more where flops and transcendentals are fewer."""
        if state.stopped:
            return 0.0
        return -self.weight * self.scale * sum(cost_changes(start, state))


def cost_changes(start: ModuleState, state: ModuleState) -> tuple[float, float]:
    """How flops and transcendentals compare with the start, as logarithms; 0 is no change.

    Args:
        start: The benchmark as the episode began.
        state: The module now.
    """

    def change(now: float, then: float) -> float:
        return math.log((now + start.op_count) / (then + start.op_count))

    return (
        change(state.flops, start.flops),
        change(state.transcendentals, start.transcendentals),
    )


REWARDS: dict[str, Callable[[], Reward]] = {
    "op-count-drop": OpCountDrop,
    "log-drop": LogDrop,
    "op-count": OpCount,
    "cost-drop": CostDrop,
    "shaped": Shaped,
    "bytes-drop": BytesDrop,
    "run-time": RunTimeDrop,
    "final-run-time": partial(RunTimeDrop, at_end=True),
}
"""Rewards by name, with their default scale."""


def needs_costs(reward: Reward) -> bool:
    """Whether a reward reads flops or transcendentals."""
    return getattr(reward, "needs_costs", False)


def needs_run_times(reward: Reward) -> Literal["no", "of the last state", "of all states"]:
    """Which states a reward wants timed."""
    if not getattr(reward, "needs_run_times", False):
        return "no"
    return "of the last state" if getattr(reward, "at_end", False) else "of all states"


def resolve_reward(reward: str | Reward) -> Reward:
    """Returns the reward of that name, or the object itself.

    Raises:
        UnknownNameError: There is no reward of that name.
    """
    if not isinstance(reward, str):
        return reward
    if reward not in REWARDS:
        raise UnknownNameError(unknown("reward", reward, REWARDS))
    return REWARDS[reward]()
