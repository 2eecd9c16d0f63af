"""Plays random policies for a given time, in workers and threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from envs import PassOrderingEnv
from envs.observations import ObservationKind
from hlograph.isolation import FlightRecorder

HORIZON = 40


@dataclass(frozen=True)
class RandomPlay:
    """Task of playing uniformly random passes, episode after episode, resets included."""

    benchmarks: Sequence[str]
    observation: ObservationKind
    forget: bool
    """True if each reset forgets which passes are known to change nothing."""
    seconds: float
    seed: int


class RandomPlayer:
    """Plays tasks, and keeps its environments so that each module is read once."""

    def __init__(self) -> None:
        self._envs: dict[tuple[tuple[str, ...], ObservationKind], PassOrderingEnv] = {}

    def __call__(self, play: RandomPlay) -> int:
        """Plays until the time is over, and returns the number of steps."""
        env = self._env(play)
        rng = np.random.default_rng(play.seed)
        seed = play.seed if play.forget else None
        steps = 0
        end = time.perf_counter() + play.seconds
        while True:
            benchmark = str(rng.choice(np.asarray(play.benchmarks)))
            env.reset(seed=seed, options={"benchmark": benchmark})
            for action in rng.integers(len(env.passes), size=HORIZON).tolist():
                env.step(action)
                steps += 1
                if time.perf_counter() >= end:
                    return steps

    def warm_up(self, play: RandomPlay) -> None:
        """Loads all modules."""
        env = self._env(play)
        for name in play.benchmarks:
            env.reset(seed=play.seed, options={"benchmark": name})

    def _env(self, play: RandomPlay) -> PassOrderingEnv:
        key = (tuple(play.benchmarks), play.observation)
        if key not in self._envs:
            self._envs[key] = PassOrderingEnv(
                play.benchmarks,
                observation=play.observation,
                horizon=HORIZON,
                costs=False,
                share_observations=True,
            )
        return self._envs[key]


def make_player(recorder: FlightRecorder) -> Callable[[RandomPlay], int]:
    """Returns the function that a worker process runs on each task."""
    player = RandomPlayer()

    def work(play: RandomPlay) -> int:
        if play.seconds == 0:
            player.warm_up(play)
            return 0
        return player(play)

    return work
