"""The record of one episode that a policy plays."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from experiments.policies.states import STOP


@dataclass
class PlayedEpisode:
    """One episode while it is played.

    Args:
        benchmark: Name of the benchmark.
        sizes: Size of the module at the start; later also after each step that changed it.
    """

    benchmark: str
    sizes: list[int]
    """Instructions (or kernels) at the start, and after each step that changed the module."""
    steps: list[str] = field(default_factory=list)
    """Names of the steps that changed the module."""
    calls: int = 0
    """Number of all steps."""
    run_time: float | None = None
    """Run time of the last state, if it was measured."""
    reward: float = 0.0
    """Sum of the rewards."""
    idle: int = 0
    """Number of steps since the module was the smallest so far."""

    def record(self, info: Mapping[str, Any], reward: float = 0.0) -> None:
        """Adds one step, from its info and reward."""
        self.run_time = info.get("run_time")
        self.reward += reward
        if info["step_name"] in (None, STOP):
            return
        self.calls += 1
        self.idle = 0 if info["size"] < min(self.sizes) else self.idle + 1
        if info["changed"]:
            self.steps.append(info["step_name"])
            self.sizes.append(info["size"])
