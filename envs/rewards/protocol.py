"""Interface between environments and rewards."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, Protocol

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
