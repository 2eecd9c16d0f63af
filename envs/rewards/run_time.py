"""Reward of measured run time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from envs.rewards.protocol import ModuleState


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
