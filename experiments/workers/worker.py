"""A rollout worker: it plays policies, and checks results.

A worker owns its environments and its copy of the policies, and has nothing to lose: a task
holds everything that its result depends on, so every worker returns the same.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from experiments.evaluate.evaluation import Checker
from experiments.policies.config import PolicyName, TrainConfig
from experiments.policies.kind import EnvRequest, MakeEnv, PolicyKind, policy_kind
from experiments.workers.ray import ray_pool
from experiments.workers.startup import prepare_worker
from hlograph.decisions.benchmarks import MODULES, NamedModule, resolve_benchmarks
from hlograph.isolation import (
    FlightRecorder,
    InProcessPool,
    Pool,
    Quarantine,
    WorkerLimits,
    WorkerPool,
)
from models.actor_critic import ActorCritic

Parameters = Mapping[str, np.ndarray]
"""State of a policy, by the name of the tensor."""


class RolloutWorker:
    """Does tasks, one after the other.

    Args:
        config: Settings of the run.
        recorder: Receives a note of each pass before it runs.
    """

    def __init__(self, config: TrainConfig, recorder: FlightRecorder) -> None:
        self.config = replace(config, device="cpu")
        self.recorder = recorder
        self.checker = Checker()
        self._named: dict[Sequence[str], Sequence[NamedModule]] = {}
        self._kinds: dict[tuple[PolicyName, tuple[str, ...]], PolicyKind] = {}
        self._policies: dict[PolicyKind, ActorCritic] = {}
        MODULES.max_bytes = config.module_cache_mib << 20

    def __call__(self, task: "Task") -> Any:
        """Does a task, with one thread of torch: the order of summation depends on the number."""
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return task.do(self)
        finally:
            torch.set_num_threads(threads)

    def kind(self, name: PolicyName, actions: tuple[str, ...] = ()) -> PolicyKind:
        """Returns the kind of policy of that name, with the run's settings.

        Args:
            name: Name of the kind.
            actions: Names of the actions that the policy knows; empty for those of the settings.
        """
        if (name, actions) not in self._kinds:
            config = self.config.with_actions(actions) if actions else self.config
            self._kinds[name, actions] = policy_kind(name, config)
        return self._kinds[name, actions]

    def policy(
        self, name: PolicyName, parameters: Parameters, actions: tuple[str, ...] = ()
    ) -> tuple[PolicyKind, ActorCritic]:
        """Returns the kind of that name, and its policy with these parameters; see ``kind``."""
        kind = self.kind(name, actions)
        if kind not in self._policies:
            self._policies[kind] = kind.new_policy()
        policy = self._policies[kind]
        policy.load_state_dict({key: torch.tensor(value) for key, value in parameters.items()})
        return kind, policy

    def env_maker(
        self,
        kind: PolicyKind,
        benchmarks: Sequence[str | NamedModule],
        quarantine: Quarantine,
        *,
        fresh: bool = False,
        learns: bool = True,
    ) -> MakeEnv:
        """Returns a function that makes environments; see ``EnvRequest`` for the arguments.

        Args:
            kind: Kind of the policy that plays.
            benchmarks: Names of the benchmarks, or these themselves.
            quarantine: Passes and rewrites that are not tried.
            fresh: True for environments that share no knowledge with others.
            learns: True if rewards are used.
        """
        named = self._resolved(benchmarks)
        return kind.env_maker(EnvRequest(named, quarantine, self.recorder, fresh, learns))

    def _resolved(self, benchmarks: Sequence[str | NamedModule]) -> Sequence[NamedModule]:
        """Returns benchmarks by name, which are looked up once for all tasks of a run."""
        names = tuple(benchmark for benchmark in benchmarks if isinstance(benchmark, str))
        if len(names) < len(benchmarks):
            return resolve_benchmarks(benchmarks)
        if names not in self._named:
            self._named = {names: resolve_benchmarks(names)}
        return self._named[names]


def make_rollout_worker(config: TrainConfig, recorder: FlightRecorder) -> RolloutWorker:
    """Makes the worker of a process that does nothing else."""
    prepare_worker(config.deterministic)
    return RolloutWorker(config, recorder)


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """One piece of work for a worker."""

    quarantine: Quarantine = field(default_factory=Quarantine)
    """Passes and rewrites that are not to be tried."""

    @abstractmethod
    def do(self, worker: RolloutWorker) -> Any:
        """Does it, in the worker's process."""


PRELOADED = (
    "experiments.workers.worker",
    "experiments.workers.preload",
)
"""Modules that workers begin with, so that a new one starts at once."""
MakeWorker = Callable[[TrainConfig, FlightRecorder], RolloutWorker]


def pool_of(config: TrainConfig, make_worker: MakeWorker = make_rollout_worker) -> Pool:
    """Returns the pool of workers that a run's settings ask for.

    Raises:
        HloError: Ray is not installed, or there is no such cluster.
    """
    if config.workers == "in-process":
        return InProcessPool(partial(RolloutWorker, config))
    limits = WorkerLimits(
        seconds=config.pass_seconds, memory=int(config.worker_memory_gib * (1 << 30))
    )
    work = (partial(make_worker, config), config.num_workers, limits, PRELOADED)
    return ray_pool(*work, config.ray_address) if config.workers == "ray" else WorkerPool(*work)
