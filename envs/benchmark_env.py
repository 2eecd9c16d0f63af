"""Environments whose episodes can be forked, replayed, validated and rendered."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, Self, TypeVar

import numpy as np

from envs.episode import Episode
from envs.episode_env import EpisodeEnv
from envs.rendering import render_trajectory
from envs.trajectory import Trajectory, check_replay
from envs.validation import Validation, validate
from hlograph.execution.equivalence import Limits

E = TypeVar("E", bound=Episode)


class BenchmarkEnv(EpisodeEnv[E]):
    """Environment on benchmarks, whose episodes can be forked, replayed, validated and rendered.

    See ``EpisodeEnv`` for arguments and for the rules that all environments keep.
    """

    @property
    def trajectory(self) -> Trajectory:
        """Record of the episode so far."""
        return self._current.trajectory()

    def fork(self) -> Self:
        """Returns an independent copy of the environment in the middle of its episode.

        What the copy learns, its masks and random numbers do not affect the original, nor the
        other way round. Both share tables that show in times only (``KnownNoOps``, ``RunTimes``),
        the reward, the quarantine and the flight recorder.
        """
        fork = object.__new__(type(self))
        fork.__dict__.update(self.__dict__)
        fork.action_space = copy.copy(self.action_space)
        for random in (fork, fork.action_space):
            if random._np_random is not None:
                random._np_random = _copy_generator(random._np_random)
        fork._choice = copy.copy(self._choice)
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
                action = np.int64(self._action_of(self._current, name))
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
        start, module = self._current.start_module, self._current.module
        return validate(start, module, samples=samples, seed=seed, limits=limits)

    def render(self) -> str | None:
        """Returns the episode as a table, in render mode ``ansi``."""
        return render_trajectory(self.trajectory) if self.render_mode == "ansi" else None

    @abstractmethod
    def _action_of(self, episode: E, name: str) -> int:
        """Returns the action of a step's name in the present state."""


def _copy_generator(generator: np.random.Generator) -> np.random.Generator:
    # Several times faster than deepcopy.
    bits = type(generator.bit_generator)()
    bits.state = generator.bit_generator.state
    return np.random.Generator(bits)
