"""Environments of one process that step together, their passes spread over threads.

The engine releases the interpreter's lock while a pass runs. Which thread steps which
environment, and when, changes nothing: environments share no state, and what follows from
a step is worked out in the order of the environments after all of them have stepped.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import gymnasium

from experiments.states import State, state_of

T = TypeVar("T")


@dataclass(frozen=True)
class Transition:
    """What one step of one environment led to."""

    state: State
    """The state that followed, before any reset."""
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]
    seconds: float
    """Duration of the whole step; `info["pass_time"]` is the pass's part of it."""


class Lockstep:
    """N environments that step together.

    Args:
        envs: The environments, of one kind.
        threads: Threads that they are spread over.
    """

    def __init__(self, envs: Sequence[gymnasium.Env], threads: int) -> None:
        self.envs = list(envs)
        self._threads = min(threads, len(self.envs))
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="lockstep")

    def __len__(self) -> int:
        return len(self.envs)

    def close(self) -> None:
        """Ends the threads and closes the environments."""
        self._pool.shutdown()
        for env in self.envs:
            env.close()

    def reset(self, benchmarks: dict[int, str]) -> dict[int, tuple[State, dict[str, Any]]]:
        """Starts episodes in which nothing is known yet of passes that do nothing.

        A policy is judged on modules that nobody has tried a pass on, so it has to learn on
        such modules too: with what earlier episodes found out, most useless passes would be
        masked in training, and choosing them in the evaluation would never have cost a call.

        Args:
            benchmarks: Benchmark to play by number of environment; the others go on.

        Returns:
            First state and info, by number of environment.
        """

        def reset(number: int) -> tuple[State, dict[str, Any]]:
            # With a seed, an environment also forgets what it knows; it has no other use
            # here, for the benchmark is given.
            observation, info = self.envs[number].reset(
                seed=0, options={"benchmark": benchmarks[number]}
            )
            return state_of(observation, info), info

        return self._spread(reset, sorted(benchmarks))

    def step(self, actions: dict[int, int]) -> dict[int, Transition]:
        """Steps environments; those that come to an end have to be reset before the next.

        Args:
            actions: Action by number of environment; the others stand still.

        Returns:
            What followed, by number of environment.
        """

        def step(number: int) -> Transition:
            start = time.perf_counter()
            observation, reward, terminated, truncated, info = self.envs[number].step(
                actions[number]
            )
            state = state_of(observation, info)
            seconds = time.perf_counter() - start
            return Transition(state, float(reward), terminated, truncated, info, seconds)

        return self._spread(step, sorted(actions))

    def _spread(self, work: Callable[[int], T], numbers: Sequence[int]) -> dict[int, T]:
        """Does the work for each number on the threads, each in one go over its share."""
        shares = [numbers[thread :: self._threads] for thread in range(self._threads)]
        done = self._pool.map(lambda share: [(n, work(n)) for n in share], shares)
        results = dict(pair for share in done for pair in share)
        return {number: results[number] for number in numbers}


@contextmanager
def lockstep(
    make_env: Callable[[], gymnasium.Env], num_envs: int, threads: int
) -> Iterator[Lockstep]:
    """Environments in lockstep that are closed at the end of the block."""
    envs = Lockstep([make_env() for _ in range(num_envs)], threads)
    try:
        yield envs
    finally:
        envs.close()
