"""What all environments have in common: benchmarks, episodes on them, forks and replays."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Literal, Protocol, Self, TypeVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from envs.benchmarks import BenchmarkSource, NamedModule, resolve_benchmarks
from envs.rendering import render_trajectory
from envs.rewards import Reward, needs_costs, needs_run_times, resolve_reward
from envs.run_times import RUN_TIMES, RunTimes
from envs.step_result import NOTHING, StepResult
from envs.timing import TimedEpisode, Timing
from envs.trajectory import ReplayError, Trajectory
from hlograph.errors import UnknownNameError
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.quarantine import Quarantine
from hlograph.module import Module
from hlograph.names import unknown

Selection = Literal["uniform", "round-robin"]


class AnyEpisode(TimedEpisode, Protocol):
    """The state of one episode, of whatever kind."""

    done: bool
    steps: int

    def trajectory(self) -> Trajectory:
        """What it did so far."""
        ...

    def copy(self) -> Self:
        """An independent copy."""
        ...


E = TypeVar("E", bound=AnyEpisode)


class BenchmarkEnv(gymnasium.Env[Any, np.int64], Generic[E]):
    """Plays episodes on benchmarks.

    Args:
        benchmarks: Names of the corpus, paths of HLO files, or Modules; one or several. None: the
            training split of the corpus.
        reward: A name of ``envs.rewards.REWARDS`` or a callable. With one that needs run times,
            info holds ``run_time``, in units of the start's (inf of a state that does not run,
            None of one that is not timed), and ``run_time_error``, why it does not run, or None;
            reset raises NotExecutableError for a benchmark that does not.
        horizon: Steps after which an episode is truncated; terminated, with a reward that is paid
            at its end.
        selection: How reset picks a benchmark: ``"uniform"`` or ``"round-robin"``.
        costs: Whether info holds XLA's cost analysis; a reward that reads it has it anyway.
        run_times: Takes and keeps run times where the reward needs them; None: all environments
            of the process share ``envs.run_times.RUN_TIMES``.
        quarantine: What is not to be tried, because it ended a process.
        recorder: Where it is noted what is tried; None in a process that is nobody's worker.
        render_mode: ``"ansi"`` or None.
    """

    # gymnasium declares it as an instance variable.
    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        benchmarks: Sequence[BenchmarkSource] | BenchmarkSource | None,
        *,
        reward: str | Reward,
        horizon: int,
        selection: Selection = "uniform",
        costs: bool,
        run_times: RunTimes | None = None,
        quarantine: Quarantine | None = None,
        recorder: FlightRecorder | None = None,
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
        self._benchmarks = resolve_benchmarks(benchmarks)
        self._by_name = {benchmark.name: benchmark for benchmark in self._benchmarks}
        self._selection = selection
        self._next_benchmark = 0
        self._reward = resolve_reward(reward)
        self._costs = costs
        self._needs_costs = costs or needs_costs(self._reward)
        self._quarantine, self._recorder = quarantine or Quarantine(), recorder
        timed = needs_run_times(self._reward)
        self._pays_at_end = timed == "of the last state"
        self._timing = None
        if timed != "no":
            times = RUN_TIMES if run_times is None else run_times
            self._timing = Timing(times, self._pays_at_end, self._quarantine, recorder)
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
        return self._current.trajectory()

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
        episode = self._begin(self._choose((options or {}).get("benchmark")))
        if self._timing is not None:
            self._timing.begin(episode)
        self._episode = episode
        return self._observe(), self._info(None, NOTHING)

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
        check_replay("start", trajectory.start_fingerprint, info["fingerprint"])
        horizon, self.horizon = self.horizon, len(trajectory.passes) + 1
        try:
            for step, name in enumerate(trajectory.passes):
                observation, _, _, _, info = self.step(np.int64(self._action_of(name)))
                check_replay(
                    f"step {step + 1} ({name})", trajectory.op_counts[step], info["op_count"]
                )
        finally:
            self.horizon = horizon
        check_replay("end", trajectory.fingerprint, info["fingerprint"])
        return observation, info

    @abstractmethod
    def action_masks(self) -> NDArray[np.int8]:
        """Returns the action mask (the name that sb3-contrib's MaskablePPO asks for)."""

    def render(self) -> str | None:
        """Returns the episode as a table, in render mode ``ansi``."""
        return render_trajectory(self.trajectory) if self.render_mode == "ansi" else None

    @abstractmethod
    def _begin(self, benchmark: NamedModule) -> E:
        """An episode on a benchmark."""

    @abstractmethod
    def _action_of(self, name: str) -> int:
        """The action that has this name in the present state."""

    @abstractmethod
    def _observe(self) -> Any:
        """What the agent sees of the present state."""

    def _end(self, episode: E, stopped: bool) -> tuple[bool, bool]:
        """Whether a step terminated and truncated the episode; times its state if it has to be.

        Args:
            episode: The episode, with the step counted.
            stopped: Whether nothing is left to do.
        """
        cut_off = not stopped and episode.steps >= self.horizon
        terminated, truncated = stopped, cut_off
        if cut_off and self._pays_at_end:
            terminated, truncated = True, False
        episode.done = terminated or truncated
        if self._timing is not None:
            self._timing.measure(episode, episode.done)
        return terminated, truncated

    def _leave(self, episode: E) -> None:
        """What there is to do when an episode ends, or is left before its end."""

    def _forget(self) -> None:
        """Forgets what earlier episodes found out."""

    @abstractmethod
    def _info(self, name: str | None, result: StepResult) -> dict[str, Any]:
        """What is told beside the observation.

        Args:
            name: Of the step; None after a reset.
            result: What came of it.
        """

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


def _copy_generator(generator: np.random.Generator) -> np.random.Generator:
    copy = np.random.default_rng()
    copy.bit_generator.state = generator.bit_generator.state
    return copy


def check_replay(where: str, expected: object, came: object) -> None:
    """Raises ReplayError if a replay came to something else than its trajectory."""
    if expected != came:
        raise ReplayError(
            f"at the {where} the trajectory has {expected}, the replay {came}: the benchmark or "
            "the linked XLA is another one"
        )
