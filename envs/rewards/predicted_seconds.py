"""Reward of predicted run time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from envs.rewards.protocol import ModuleState


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
