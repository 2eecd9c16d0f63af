"""Environments of one process that step together, so that one call of a policy serves all."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gymnasium

from experiments.policies.kind import MakeEnv, PolicyKind
from experiments.policies.states import PolicyInput


@dataclass(frozen=True)
class Transition:
    """Result of one step of one environment."""

    state: PolicyInput
    """PolicyInput after the step, before any reset."""
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


class Lockstep:
    """N environments that step together.

    Args:
        kind: Kind of policy that plays, which encodes the states.
        envs: Environments of this kind.
    """

    def __init__(self, kind: PolicyKind, envs: Sequence[gymnasium.Env]) -> None:
        self.kind = kind
        self.envs = list(envs)

    def __len__(self) -> int:
        return len(self.envs)

    def reset(self, benchmarks: dict[int, str]) -> dict[int, tuple[PolicyInput, dict[str, Any]]]:
        """Starts episodes that know of no pass without effect.

        A policy is evaluated on modules on which no pass was tried before, so it has to learn on
        such modules too. With the knowledge of earlier episodes most useless passes would be
        masked in training, and the policy would never pay for choosing them.

        Args:
            benchmarks: Benchmark by number of environment; the other environments go on.

        Returns:
            First state and info, by number of environment.
        """
        begun = {}
        for number in sorted(benchmarks):
            # A seed makes the environment forget known no-ops. It has no other effect here,
            # since the benchmark is given.
            observation, info = self.envs[number].reset(
                seed=0, options={"benchmark": benchmarks[number]}
            )
            begun[number] = (self.kind.encode(observation, info), info)
        return begun

    def step(self, actions: dict[int, int]) -> dict[int, Transition]:
        """Steps environments. Those whose episode ends have to be reset before the next step.

        Args:
            actions: Action by number of environment; the other environments are not stepped.

        Returns:
            The transition, by number of environment.
        """
        after = {}
        for number in sorted(actions):
            observation, reward, terminated, truncated, info = self.envs[number].step(
                actions[number]
            )
            state = self.kind.encode(observation, info)
            after[number] = Transition(state, float(reward), terminated, truncated, info)
        return after


@contextmanager
def lockstep(kind: PolicyKind, make_env: MakeEnv, num_envs: int) -> Iterator[Lockstep]:
    """Yields environments in lockstep, and closes them at the end of the block."""
    envs = Lockstep(kind, [make_env() for _ in range(num_envs)])
    try:
        yield envs
    finally:
        for env in envs.envs:
            env.close()
