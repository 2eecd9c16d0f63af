"""Environments whose actions change a module, with a last one that stops."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from envs.benchmark_env import BenchmarkEnv, Selection
from envs.benchmarks import BenchmarkSource
from envs.episode import Episode
from envs.rewards import Reward, cost_changes
from envs.run_times import RunTimes
from envs.step_result import NOTHING, StepResult
from envs.validation import Validation, validate
from hlograph.execution.equivalence import Limits
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.quarantine import Quarantine

STOP = "stop"
"""What the last action is called."""

E = TypeVar("E", bound=Episode)


class ModuleEnv(BenchmarkEnv[E]):
    """Does one thing after the other to an HLO module, until it stops.

    The last action stops, which terminates the episode; the horizon truncates it. Nothing else
    ends it.

    Args:
        benchmarks: As of ``BenchmarkEnv``, and so the rest.
        num_actions: All actions, stopping included.
        reward: What a step is rewarded for.
        horizon: Steps after which an episode is truncated.
        selection: How reset picks a benchmark.
        costs: Whether info holds XLA's cost analysis.
        timings: Whether info holds the time in XLA.
        run_times: Takes and keeps run times where the reward needs them.
        quarantine: What is not to be tried.
        recorder: Where it is noted what is tried.
        render_mode: ``"ansi"`` or None.
    """

    def __init__(
        self,
        benchmarks: Sequence[BenchmarkSource] | BenchmarkSource | None,
        num_actions: int,
        *,
        reward: str | Reward,
        horizon: int,
        selection: Selection,
        costs: bool,
        timings: bool,
        run_times: RunTimes | None,
        quarantine: Quarantine | None,
        recorder: FlightRecorder | None,
        render_mode: str | None,
    ) -> None:
        super().__init__(
            benchmarks,
            reward=reward,
            horizon=horizon,
            selection=selection,
            costs=costs,
            run_times=run_times,
            quarantine=quarantine,
            recorder=recorder,
            render_mode=render_mode,
        )
        self.action_space = spaces.Discrete(num_actions)
        self._stop = num_actions - 1
        self._timings = timings

    def step(self, action: int | np.integer) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Takes one action.

        Args:
            action: The last one stops.
        """
        index = int(action)
        if not 0 <= index <= self._stop:
            raise ValueError(f"expected an action from 0 to {self._stop}, got {action!r}")
        episode = self._current
        if episode.done:
            raise gymnasium.error.ResetNeeded("the episode has ended; call reset() first")
        before = episode.state
        stopped = index == self._stop
        name, result = (STOP, NOTHING) if stopped else self._act(episode, index)
        episode.steps += 1
        terminated, truncated = self._end(episode, stopped)
        if episode.done:
            self._leave(episode)
        after = episode.state._replace(stopped=True) if terminated else episode.state
        reward = self._reward(episode.start, before, after)
        info = self._info(name, result)
        return self._observe(), float(reward), terminated, truncated, info

    def validate(
        self, *, samples: int = 2, seed: int = 0, limits: Limits | None = None
    ) -> Validation:
        """Verifies the episode's module and compares what it computes with the start module.

        Takes seconds, for both are compiled: for results, not for every step.

        Args:
            samples: Random inputs to run both on.
            seed: Seed of the inputs.
            limits: What the comparison may cost; None is the default of
                ``hlograph.execution.equivalence.Limits``.

        Returns:
            The verifier's error, if any, and the ``Equivalence``.
        """
        episode = self._current
        return validate(
            episode.start_module, episode.module, samples=samples, seed=seed, limits=limits
        )

    def action_masks(self) -> NDArray[np.int8]:
        """Returns the action mask (the name that sb3-contrib's MaskablePPO asks for)."""
        return self._current.mask.copy()

    @abstractmethod
    def _act(self, episode: E, action: int) -> tuple[str, StepResult]:
        """Does what an action other than the last one says; its name, and what came of it."""

    def _info(self, name: str | None, result: StepResult) -> dict[str, Any]:
        """What is told beside the observation.

        Args:
            name: Of the step; None after a reset.
            result: What came of it.
        """
        episode = self._current
        info: dict[str, Any] = {
            "benchmark": episode.benchmark,
            "start_op_count": episode.start.op_count,
            "op_count": episode.state.op_count,
            "fingerprint": episode.fingerprint,
            self._step_name: name,
            "changed": result.changed,
            "error": result.error,
            "action_mask": episode.mask.copy(),
        }
        if self._costs and episode.cost is not None:
            info.update(episode.cost._asdict())
            info["cost_changes"] = cost_changes(episode.start, episode.state)
        if self._timing is not None:
            info.update(self._timing.info(episode))
        if self._timings:
            info[self._step_time] = result.seconds
        return info

    _step_name: str
    """Key of info under which a step's name is."""
    _step_time: str
    """Key of info under which the time is that a step took in XLA."""
