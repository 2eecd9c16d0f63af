"""Plays a policy on the same modules again and again, and times the environments."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from envs import KnownNoOps, KnownSteps, PassOrderingEnv
from experiments.policies.kind import PolicyKind
from experiments.policies.states import State
from experiments.workers.collecting import Deck, collect
from experiments.workers.lockstep import Lockstep, Transition
from experiments.workers.startup import keep_freed_memory
from experiments.workers.stopwatch import Stopwatch
from hlograph.decisions.benchmarks import resolve_benchmarks
from models.actor_critic import ActorCritic

ENVS, STEPS = 16, 40


@dataclass
class Played:
    """Counts and times what environments did in one iteration."""

    seconds: float = 0.0
    """Processor time of steps and resets."""
    changes: int = 0
    """Number of steps that changed something."""
    known: int = 0
    """Number of those among them for which no pass ran."""

    @property
    def milliseconds(self) -> float:
        """Processor time of a pass call."""
        return 1e3 * self.seconds / (ENVS * STEPS)


class RepeatedPlay:
    """Plays a policy that draws its actions.

    Args:
        kind: Kind of the policy, which orders passes.
        policy: The policy.
        names: Names of the modules.
        steps: Table of known steps; None to make all steps.
    """

    def __init__(
        self,
        kind: PolicyKind,
        policy: ActorCritic,
        names: Sequence[str],
        steps: KnownSteps | None,
    ) -> None:
        self._kind, self._policy, self._names = kind, policy, names
        self._env = PassOrderingEnv(
            resolve_benchmarks(names),
            observation=kind.observation,
            horizon=STEPS,
            costs=False,
            timings=True,
            share_observations=True,
            known=KnownNoOps(),
            known_steps=steps,
        )
        # As in workers: torch's time is not of interest, but what it does to memory is.
        keep_freed_memory()
        torch.set_num_threads(1)

    def iterate(self, seed: int) -> Played:
        """Collects one iteration of experience.

        Args:
            seed: Seed of the order of the modules and of the actions.
        """
        envs = _TimedLockstep(self._kind, [self._env.fork() for _ in range(ENVS)])
        deck, generator = Deck(self._names, seed), torch.Generator().manual_seed(seed)
        collect(envs, self._policy, deck, generator, STEPS, Stopwatch())
        return envs.played


class _TimedLockstep(Lockstep):
    """Environments in lockstep with a clock."""

    def __init__(self, kind: PolicyKind, envs: Sequence[PassOrderingEnv]) -> None:
        super().__init__(kind, envs)
        self.played = Played()

    def reset(self, benchmarks: dict[int, str]) -> dict[int, tuple[State, dict]]:
        """See ``Lockstep.reset``."""
        begin = time.thread_time()
        begun = super().reset(benchmarks)
        self.played.seconds += time.thread_time() - begin
        return begun

    def step(self, actions: dict[int, int]) -> dict[int, Transition]:
        """See ``Lockstep.step``."""
        begin = time.thread_time()
        after = super().step(actions)
        self.played.seconds += time.thread_time() - begin
        changes = [t.info for t in after.values() if t.info["changed"]]
        self.played.changes += len(changes)
        self.played.known += sum(info["step_time"] == 0 for info in changes)
        return after
