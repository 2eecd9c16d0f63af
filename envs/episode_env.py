"""Base class of the environments: how an episode begins, steps and ends."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from envs.benchmarks import (
    BenchmarkChoice,
    BenchmarkSource,
    NamedModule,
    Selection,
    resolve_benchmarks,
)
from envs.episode import Episode
from envs.info import step_info
from envs.rewards import Reward, needs_costs, needs_seconds, resolve_reward
from envs.run_times import RunTimes
from envs.step_result import MASKED, STOP, StepResult
from envs.timing import Timing
from hlograph.errors import UnknownNameError
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.quarantine import Quarantine
from hlograph.module import Module

E = TypeVar("E", bound=Episode)


class EpisodeEnv(gymnasium.Env[Any, np.int64], Generic[E]):
    """Base class of environments whose actions change an HLO module.

    All environments keep these rules:

    * **Termination.** Stopping, or deciding about the last pair, terminates the episode. The
      horizon truncates it. With a reward that is paid at the end of the episode
      (``final-run-time``) the horizon terminates it, because no reward can follow.
    * **Failure.** A step that fails leaves the module as it was. It is reported in
      ``info["error"]``.
    * **Masked actions.** A masked action changes nothing. It counts as a step.
    * **Determinism.** The same benchmark and actions lead to the same module in every process.
      Rewards are deterministic too, unless they are measured run times.

    Info of ``reset`` and ``step`` has the keys that ``envs.info`` lists.

    Args:
        benchmarks: Names of the corpus, paths of HLO files, or Modules; one or several. None: the
            training split of the corpus. Modules are read when they are first chosen.
        num_actions: Number of actions.
        stops: True if the last action stops the episode.
        reward: A name of ``envs.rewards.REWARDS`` or a callable.
        horizon: Number of steps after which an episode is truncated.
        selection: This and all that follow: see ``envs.settings.EnvSettings``.
        costs: See there.
        timings: See there.
        run_times: See there.
        quarantine: See there.
        recorder: See there.
        render_mode: See there.

    Raises:
        UnknownNameError: A name is none of those that are allowed.
        ValueError: A number is out of range, or there is no benchmark.
    """

    # gymnasium declares it as an instance variable.
    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        benchmarks: Sequence[BenchmarkSource] | BenchmarkSource | None,
        num_actions: int,
        *,
        stops: bool,
        reward: str | Reward,
        horizon: int,
        selection: Selection = "uniform",
        costs: bool = True,
        timings: bool = False,
        run_times: RunTimes | None = None,
        quarantine: Quarantine | None = None,
        recorder: FlightRecorder | None = None,
        render_mode: str | None = None,
    ) -> None:
        if horizon < 1:
            raise ValueError(f"expected a horizon of at least 1 step, got {horizon}")
        if render_mode not in (None, "ansi"):
            raise UnknownNameError.of("render mode", render_mode, ("ansi",))
        self.horizon, self.render_mode = horizon, render_mode
        self.action_space = spaces.Discrete(num_actions)
        self._num_actions = num_actions
        self._stop = num_actions - 1 if stops else None
        self._choice = BenchmarkChoice(resolve_benchmarks(benchmarks), selection)
        self._reward = resolve_reward(reward)
        self._tells_costs, self._tells_times = costs, timings
        self._needs_costs = costs or needs_costs(self._reward)
        self._needs_seconds = needs_seconds(self._reward)
        self._quarantine, self._recorder = quarantine or Quarantine(), recorder
        self._timing = Timing.of(self._reward, run_times, self._quarantine, recorder)
        self._episode: E | None = None

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """Names of the benchmarks that ``reset`` chooses from."""
        return self._choice.names

    @property
    def module(self) -> Module:
        """The module of the episode; change it through ``step`` only."""
        return self._current.module

    def action_masks(self) -> NDArray[np.int8]:
        """Returns the action mask (the name that sb3-contrib's MaskablePPO asks for).

        Returns:
            int8 ``[num_actions]``; 0 where an action changes nothing.
        """
        return self._current.mask.copy()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode.

        Args:
            seed: Seed of the choice of benchmarks.
            options: ``{"benchmark": name}`` chooses one of ``benchmarks``.

        Raises:
            NotExecutableError: The reward needs run times, and the benchmark cannot be run.
            UnknownNameError: There is no benchmark of that name.
        """
        super().reset(seed=seed)
        if seed is not None:
            self._choice.restart()
            self._forget()
        if self._episode is not None:
            self._leave(self._episode)
        name = (options or {}).get("benchmark")
        benchmark = self._choice.draw(self.np_random) if name is None else self._choice.named(name)
        episode = self._begin(benchmark)
        if self._needs_seconds:
            episode.predict()
            episode.start = episode.state
        if self._timing is not None:
            self._timing.begin(episode)
        self._episode = episode
        return self._observe(episode), self._info(episode, StepResult())

    def step(self, action: int | np.integer) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Takes one action.

        Args:
            action: Number of the action.

        Returns:
            Observation, reward, terminated, truncated, info.

        Raises:
            gymnasium.error.ResetNeeded: No episode has begun, or it has ended.
            ValueError: There is no such action.
        """
        episode, index = self._current, operator.index(action)
        if not 0 <= index < self._num_actions:
            raise ValueError(
                f"expected an action from 0 to {self._num_actions - 1}, got {action!r}"
            )
        if episode.done:
            raise gymnasium.error.ResetNeeded("the episode has ended; call reset() first")
        before = episode.state
        result = self._take(episode, index)
        if self._needs_seconds:
            episode.predict()
        episode.num_steps += 1
        terminated, truncated = self._end(episode, result.stopped)
        after = episode.state._replace(stopped=True) if terminated else episode.state
        reward = float(self._reward(episode.start, before, after))
        info = self._info(episode, result)
        return self._observe(episode), reward, terminated, truncated, info

    @abstractmethod
    def _begin(self, benchmark: NamedModule) -> E:
        """Returns a new episode on a benchmark, with its mask."""

    @abstractmethod
    def _act(self, episode: E, action: int) -> StepResult:
        """Takes an action that is neither masked nor the one that stops."""

    @abstractmethod
    def _observe(self, episode: E) -> Any:
        """Returns the observation of the present state."""

    def _skip(self, episode: E, action: int) -> StepResult:
        """Returns the outcome of a masked action."""
        return StepResult(MASKED)

    def _leave(self, episode: E) -> None:
        """Called when an episode ends, or is left before its end."""

    def _forget(self) -> None:
        """Forgets what masks show of earlier episodes."""

    def _extra_info(self, episode: E) -> dict[str, Any]:
        """Returns the entries of info that other environments do not have."""
        return {}

    @property
    def _current(self) -> E:
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("no episode has begun; call reset() first")
        return self._episode

    def _take(self, episode: E, action: int) -> StepResult:
        if action == self._stop:
            return StepResult(STOP, stopped=True)
        if not episode.mask[action]:
            return self._skip(episode, action)
        return self._act(episode, action)

    def _end(self, episode: E, stopped: bool) -> tuple[bool, bool]:
        """Returns whether the episode is terminated and truncated; times its state if needed."""
        cut_off = not stopped and episode.num_steps >= self.horizon
        pays_at_end = self._timing is not None and self._timing.at_end
        episode.done = stopped or cut_off
        if self._timing is not None:
            self._timing.measure(episode, episode.done)
        if episode.done:
            self._leave(episode)
        return stopped or (cut_off and pays_at_end), cut_off and not pays_at_end

    def _info(self, episode: E, result: StepResult) -> dict[str, Any]:
        info = step_info(episode, result, costs=self._tells_costs, times=self._tells_times)
        if self._timing is not None:
            info.update(self._timing.info(episode))
        info.update(self._extra_info(episode))
        return info
