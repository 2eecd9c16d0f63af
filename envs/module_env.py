"""What environments over modules have in common: benchmarks, episodes, ends, replay."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Literal, Self, TypeVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from envs.benchmarks import BenchmarkSource, NamedModule, resolve_benchmarks
from envs.episode import Episode
from envs.rendering import render_trajectory
from envs.rewards import Reward, cost_changes, resolve_reward
from envs.step_result import NOTHING, StepResult
from envs.trajectory import ReplayError, Trajectory
from envs.validation import Validation, validate
from hlograph.equivalence import Limits
from hlograph.errors import UnknownNameError
from hlograph.module import Module
from hlograph.names import unknown

Selection = Literal["uniform", "round-robin"]
STOP = "stop"
"""What the last action is called."""

E = TypeVar("E", bound=Episode)


class ModuleEnv(gymnasium.Env[Any, np.int64], Generic[E]):
    """Does one thing after the other to an HLO module, until it stops.

    The last action stops, which terminates the episode; the horizon truncates it. Nothing else
    ends it.

    Args:
        benchmarks: Names of the corpus, paths of HLO files, or Modules; one or several. None: the
            training split of the corpus.
        num_actions: All actions, stopping included.
        reward: A name of ``envs.rewards.REWARDS`` or a callable.
        horizon: Steps after which an episode is truncated.
        selection: How reset picks a benchmark: ``"uniform"`` or ``"round-robin"``.
        costs: Whether info holds XLA's cost analysis.
        timings: Whether info holds the time in XLA.
        render_mode: ``"ansi"`` or None.
    """

    # gymnasium declares it as an instance variable.
    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

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
        render_mode: str | None,
    ) -> None:
        if horizon < 1:
            raise ValueError(f"expected a horizon of at least 1 step, got {horizon}")
        if selection not in ("uniform", "round-robin"):
            raise UnknownNameError(unknown("selection", selection, ("uniform", "round-robin")))
        if render_mode not in (None, "ansi"):
            raise UnknownNameError(unknown("render mode", render_mode, ("ansi",)))
        self.horizon = horizon
        self.render_mode = render_mode
        self.action_space = spaces.Discrete(num_actions)
        self._stop = num_actions - 1
        self._benchmarks = resolve_benchmarks(benchmarks)
        self._by_name = {benchmark.name: benchmark for benchmark in self._benchmarks}
        self._selection = selection
        self._next_benchmark = 0
        self._reward = resolve_reward(reward)
        self._costs, self._timings = costs, timings
        self._episode: E | None = None

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """Names of the benchmarks that reset chooses from."""
        return tuple(benchmark.name for benchmark in self._benchmarks)

    @property
    def module(self) -> Module:
        """The module of the episode; change it through ``step`` only."""
        return self._current.module

    @property
    def trajectory(self) -> Trajectory:
        """What the episode did so far."""
        episode = self._current
        return Trajectory(
            benchmark=episode.benchmark,
            start_fingerprint=episode.start_fingerprint,
            start_op_count=episode.start.op_count,
            passes=tuple(episode.applied),
            op_counts=tuple(episode.op_counts),
            fingerprint=episode.module.fingerprint(),
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode.

        Args:
            seed: Seeds the choice of benchmarks.
            options: ``{"benchmark": name}`` chooses one of ``benchmarks``.
        """
        super().reset(seed=seed)
        if seed is not None:
            self._next_benchmark = 0
            self._forget()
        if self._episode is not None:
            self._leave(self._episode)
        self._episode = self._begin(self._choose((options or {}).get("benchmark")))
        return self._observe(), self._info(None, NOTHING)

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
        terminated = index == self._stop
        name, result = (STOP, NOTHING) if terminated else self._act(episode, index)
        episode.steps += 1
        truncated = not terminated and episode.steps >= self.horizon
        episode.done = terminated or truncated
        if episode.done:
            self._leave(episode)
        after = episode.state._replace(stopped=True) if terminated else episode.state
        reward = self._reward(episode.start, before, after)
        info = self._info(name, result)
        return self._observe(), float(reward), terminated, truncated, info

    def fork(self) -> Self:
        """Returns an independent copy of the environment in the middle of its episode."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._np_random = None if self._np_random is None else _copy_generator(self._np_random)
        if self._episode is not None:
            copy._episode = self._episode.copy()
        return copy

    def replay(self, trajectory: Trajectory) -> tuple[Any, dict[str, Any]]:
        """Resets to a trajectory's benchmark and does the same again.

        Returns:
            Observation and info of the last step.

        Raises:
            ReplayError: An op count or the final fingerprint differs.
            UnknownNameError: The benchmark or a step is not of this environment.
        """
        observation, info = self.reset(options={"benchmark": trajectory.benchmark})
        _check("start", trajectory.start_fingerprint, info["fingerprint"])
        horizon, self.horizon = self.horizon, len(trajectory.passes) + 1
        try:
            for step, name in enumerate(trajectory.passes):
                observation, _, _, _, info = self.step(self._action_of(name))
                _check(f"step {step + 1} ({name})", trajectory.op_counts[step], info["op_count"])
        finally:
            self.horizon = horizon
        _check("end", trajectory.fingerprint, info["fingerprint"])
        return observation, info

    def validate(
        self, *, samples: int = 2, seed: int = 0, limits: Limits | None = None
    ) -> Validation:
        """Verifies the episode's module and compares what it computes with the start module.

        Takes seconds, for both are compiled: for results, not for every step.

        Args:
            samples: Random inputs to run both on.
            seed: Seed of the inputs.
            limits: What the comparison may cost; None is ``hlograph.equivalence.Limits()``.

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

    def render(self) -> str | None:
        """Returns the episode as a table, in render mode ``ansi``."""
        return render_trajectory(self.trajectory) if self.render_mode == "ansi" else None

    @abstractmethod
    def _begin(self, benchmark: NamedModule) -> E:
        """An episode on a benchmark."""

    @abstractmethod
    def _act(self, episode: E, action: int) -> tuple[str, StepResult]:
        """Does what an action other than the last one says; its name, and what came of it."""

    @abstractmethod
    def _action_of(self, name: str) -> int:
        """The action that has this name in the present state."""

    @abstractmethod
    def _observe(self) -> Any:
        """What the agent sees of the present state."""

    def _leave(self, episode: E) -> None:
        """What there is to do when an episode ends, or is left before its end."""

    def _forget(self) -> None:
        """Forgets what earlier episodes found out."""

    @property
    def _current(self) -> E:
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("no episode has begun; call reset() first")
        return self._episode

    def _choose(self, name: str | None) -> NamedModule:
        if name is not None:
            if name not in self._by_name:
                raise UnknownNameError(unknown("benchmark", name, self._by_name))
            return self._by_name[name]
        if self._selection == "round-robin":
            chosen = self._benchmarks[self._next_benchmark % len(self._benchmarks)]
            self._next_benchmark += 1
            return chosen
        return self._benchmarks[int(self.np_random.integers(len(self._benchmarks)))]

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
        if self._timings:
            info[self._step_time] = result.seconds
        return info

    _step_name: str
    """Key of info under which a step's name is."""
    _step_time: str
    """Key of info under which the time is that a step took in XLA."""


def _copy_generator(generator: np.random.Generator) -> np.random.Generator:
    copy = np.random.default_rng()
    copy.bit_generator.state = generator.bit_generator.state
    return copy


def _check(where: str, expected: object, came: object) -> None:
    if expected != came:
        raise ReplayError(
            f"at the {where} the trajectory has {expected}, the replay {came}: the benchmark or "
            "the linked XLA is another one"
        )
