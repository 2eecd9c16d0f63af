"""The environment of a decision process: how an episode begins, steps and ends."""

from __future__ import annotations

import copy
import operator
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Self, TypeVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from envs.episode import Episode, Timing
from envs.info import step_info
from envs.rewards import Reward, needs_costs, needs_seconds, resolve_reward
from envs.run_times import RunTimes
from envs.validation import Validation, validate
from hlograph.decisions.benchmarks import (
    BenchmarkChoice,
    BenchmarkSource,
    Selection,
    resolve_benchmarks,
)
from hlograph.decisions.memory import Memory
from hlograph.decisions.process import STOP, Action, Process, State, Step
from hlograph.decisions.trajectory import Trajectory, check_replay
from hlograph.errors import UnknownNameError
from hlograph.execution.equivalence import Limits
from hlograph.module import Module

S = TypeVar("S", bound=State)

MASKED = "masked"
"""Name of a step whose action was masked and stands for no pass."""


class DecisionEnv(gymnasium.Env[Any, np.int64], Generic[S]):
    """Environment of a decision process, whose episodes can be forked, replayed and validated.

    The environments of the package are this class with one of the processes of
    ``hlograph.decisions``. All of them keep these rules:

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
        process: The process.
        benchmarks: Names of the corpus, paths of HLO files, or Modules; one or several. None: the
            training split of the corpus. Modules are read when they are first chosen.
        reward: A name of ``envs.rewards.REWARDS`` or a callable.
        horizon: Number of steps after which an episode is truncated.
        memory: Memory of which the environment shows its own view in masks; None for a process
            whose states offer actions of their own.
        selection: This and all that follow: see ``envs.settings.EnvSettings``.
        costs: See there.
        timings: See there.
        run_times: See there.
        render_mode: See there.

    Raises:
        UnknownNameError: A name is none of those that are allowed.
        ValueError: A number is out of range, or there is no benchmark.
    """

    # gymnasium declares it as an instance variable.
    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        process: Process[S],
        benchmarks: Sequence[BenchmarkSource] | BenchmarkSource | None,
        *,
        reward: str | Reward,
        horizon: int,
        memory: Memory | None = None,
        selection: Selection = "uniform",
        costs: bool = True,
        timings: bool = False,
        run_times: RunTimes | None = None,
        render_mode: str | None = None,
    ) -> None:
        if horizon < 1:
            raise ValueError(f"expected a horizon of at least 1 step, got {horizon}")
        if render_mode not in (None, "ansi"):
            raise UnknownNameError.of("render mode", render_mode, ("ansi",))
        self.process, self.horizon, self.render_mode = process, horizon, render_mode
        self._num_actions = process.num_actions
        self.action_space = spaces.Discrete(self._num_actions)
        self._stop = self._num_actions - 1 if process.stops else None
        self._memory = None if memory is None else memory.copy()
        self._choice = BenchmarkChoice(resolve_benchmarks(benchmarks), selection)
        self._reward = resolve_reward(reward)
        self._tells_costs, self._tells_times = costs, timings
        self._needs_costs = costs or needs_costs(self._reward)
        self._needs_seconds = needs_seconds(self._reward)
        self._timing = Timing.of(self._reward, run_times, process.quarantine, process.recorder)
        self._episode: Episode[S] | None = None

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """Names of the benchmarks that ``reset`` chooses from."""
        return self._choice.names

    @property
    def module(self) -> Module:
        """The module of the episode; change it through ``step`` only."""
        return self._current.module

    @property
    def trajectory(self) -> Trajectory:
        """Record of the episode so far."""
        return self._current.trajectory()

    def action_masks(self) -> NDArray[np.int8]:
        """Returns the action mask (the name that sb3-contrib's MaskablePPO asks for).

        Returns:
            int8 ``[num_actions]``; 0 where an action changes nothing.
        """
        return self._current.mask.copy()

    def actions(self) -> dict[int, Action]:
        """Returns what the actions mean in the present state, by number.

        Numbers that mean nothing in this state are left out.
        """
        actions = dict(enumerate(self.process.actions(self._current.player.state)))
        if self._stop is not None:
            actions[self._stop] = Action(STOP)
        return actions

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
            if self._memory is not None:
                self._memory.hide()
        if self._episode is not None:
            self.process.leave(self._episode.player)
        name = (options or {}).get("benchmark")
        benchmark = self._choice.draw(self.np_random) if name is None else self._choice.named(name)
        episode = Episode(self.process, self.process.start(benchmark), self._needs_costs)
        episode.mask = self._mask(episode)
        if self._needs_seconds:
            episode.predict()
            episode.start = episode.state
        if self._timing is not None:
            self._timing.begin(episode)
        self._episode = episode
        return self._observe(episode), self._info(episode, Step(episode.player.state, None))

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
        terminated, truncated = self._end(episode, result.last)
        after = episode.state._replace(stopped=True) if terminated else episode.state
        reward = float(self._reward(episode.start, before, after))
        info = self._info(episode, result)
        return self._observe(episode), reward, terminated, truncated, info

    def fork(self) -> Self:
        """Returns an independent copy of the environment in the middle of its episode.

        What the copy learns, its masks and random numbers do not affect the original, nor the
        other way round. Both share what shows in times only (``Memory``, ``RunTimes``),
        the reward, the quarantine and the flight recorder.
        """
        fork = object.__new__(type(self))
        fork.__dict__.update(self.__dict__)
        fork.action_space = copy.copy(self.action_space)
        for random in (fork, fork.action_space):
            if random._np_random is not None:
                random._np_random = _copy_generator(random._np_random)
        fork._choice = copy.copy(self._choice)
        if self._memory is not None:
            fork._memory = self._memory.copy()
        if self._episode is not None:
            fork._episode = self._episode.copy()
        return fork

    def replay(self, trajectory: Trajectory) -> tuple[Any, dict[str, Any]]:
        """Resets to the benchmark of a trajectory and repeats its steps.

        Returns:
            Observation and info of the last step.

        Raises:
            ReplayError: An op count or the final fingerprint differs.
            UnknownNameError: The environment has no such benchmark or step.
        """
        observation, info = self.reset(options={"benchmark": trajectory.benchmark})
        check_replay("start", trajectory.start_fingerprint, info["fingerprint"])
        horizon, self.horizon = self.horizon, len(trajectory.passes) + 1
        try:
            for step, name in enumerate(trajectory.passes):
                action = np.int64(self._action_of(name))
                observation, _, _, _, info = self.step(action)
                where = f"step {step + 1} ({name})"
                check_replay(where, trajectory.op_counts[step], info["op_count"])
        finally:
            self.horizon = horizon
        # Of the module itself, for which steps that are known are made, too.
        check_replay("end", trajectory.fingerprint, self.module.fingerprint())
        return observation, info

    def validate(
        self, *, samples: int = 2, seed: int = 0, limits: Limits | None = None
    ) -> Validation:
        """Verifies the episode's module and compares its outputs with those of the start module.

        Both are compiled and run, which takes seconds.

        Args:
            samples: Number of random inputs.
            seed: Seed of the inputs.
            limits: Limits of the comparison; None is the default of
                ``hlograph.execution.equivalence.Limits``.

        Returns:
            The verifier's error, if any, and the ``Equivalence``.
        """
        start, module = self._current.player.start.module, self._current.module
        return validate(start, module, samples=samples, seed=seed, limits=limits)

    def render(self) -> str | None:
        """Returns the episode as a table, in render mode ``ansi``."""
        return self.trajectory.table() if self.render_mode == "ansi" else None

    @abstractmethod
    def _observe(self, episode: Episode[S]) -> Any:
        """Returns the observation of the present state."""

    def _extra_info(self, episode: Episode[S]) -> dict[str, Any]:
        """Returns the entries of info that other environments do not have."""
        return {}

    def _action_of(self, name: str) -> int:
        """Returns the action of a step's name in the present state."""
        names = self.process.names(self._current.player.state)
        if name not in names:
            raise UnknownNameError.of("action", name, names)
        return list(names).index(name)

    @property
    def _current(self) -> Episode[S]:
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("no episode has begun; call reset() first")
        return self._episode

    def _mask(self, episode: Episode[S]) -> NDArray[np.int8]:
        mask = self.process.mask(episode.player)
        return mask if self._memory is None else self._memory.masked(mask, episode.fingerprint)

    def _take(self, episode: Episode[S], action: int) -> Step[S]:
        before, fixed = episode.player.state, self._memory is not None
        if action == self._stop:
            return Step(before, STOP, last=True)
        if not episode.mask[action]:
            # Where all states offer the same actions, a masked one has a name all the same.
            name = self.process.names(before)[action] if fixed else MASKED
            if fixed:
                episode.note(name)
            return Step(before, name)
        (step,) = self.process.after([episode.player], [action])
        if step.name is None or step.name == STOP:
            return step
        if step.changed:
            episode.enter()
        episode.note(step.name)
        if step.state is before or (fixed and not step.changed):
            if self._memory is not None:
                self._memory.show(episode.fingerprint, action)
            # All else that the mask depends on is as before.
            episode.withdraw(action)
        else:
            episode.mask = self._mask(episode)
        return step

    def _end(self, episode: Episode[S], stopped: bool) -> tuple[bool, bool]:
        """Returns whether the episode is terminated and truncated; times its state if needed."""
        cut_off = not stopped and episode.num_steps >= self.horizon
        pays_at_end = self._timing is not None and self._timing.at_end
        episode.done = stopped or cut_off
        if self._timing is not None:
            self._timing.measure(episode, episode.done)
        if episode.done:
            self.process.leave(episode.player)
        return stopped or (cut_off and pays_at_end), cut_off and not pays_at_end

    def _info(self, episode: Episode[S], step: Step[S]) -> dict[str, Any]:
        info = step_info(episode, step, costs=self._tells_costs, times=self._tells_times)
        if self._timing is not None:
            info.update(self._timing.info(episode))
        info.update(self._extra_info(episode))
        return info


def _copy_generator(generator: np.random.Generator) -> np.random.Generator:
    # Several times faster than deepcopy.
    bits = type(generator.bit_generator)()
    bits.state = generator.bit_generator.state
    return np.random.Generator(bits)
