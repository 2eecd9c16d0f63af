"""Environments of one process that step together, so that a policy judges all at once."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gymnasium

from experiments.policies.states import State, state_of


@dataclass(frozen=True)
class Transition:
    """What one step of one environment led to."""

    state: State
    """The state that followed, before any reset."""
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


class Lockstep:
    """N environments that step together.

    Args:
        envs: The environments, of one kind.
    """

    def __init__(self, envs: Sequence[gymnasium.Env]) -> None:
        self.envs = list(envs)

    def __len__(self) -> int:
        return len(self.envs)

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
        begun = {}
        for number in sorted(benchmarks):
            # With a seed, an environment also forgets what it knows; it has no other use
            # here, for the benchmark is given.
            observation, info = self.envs[number].reset(
                seed=0, options={"benchmark": benchmarks[number]}
            )
            begun[number] = (state_of(observation, info), info)
        return begun

    def step(self, actions: dict[int, int]) -> dict[int, Transition]:
        """Steps environments; those that come to an end have to be reset before the next.

        Args:
            actions: Action by number of environment; the others stand still.

        Returns:
            What followed, by number of environment.
        """
        after = {}
        for number in sorted(actions):
            observation, reward, terminated, truncated, info = self.envs[number].step(
                actions[number]
            )
            state = state_of(observation, info)
            after[number] = Transition(state, float(reward), terminated, truncated, info)
        return after


@contextmanager
def lockstep(make_env: Callable[[], gymnasium.Env], num_envs: int) -> Iterator[Lockstep]:
    """Environments in lockstep that are closed at the end of the block."""
    envs = Lockstep([make_env() for _ in range(num_envs)])
    try:
        yield envs
    finally:
        for env in envs.envs:
            env.close()
