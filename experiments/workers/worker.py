"""What a rollout worker does: it plays a policy, and checks what came of it.

A worker owns its environments and its copy of the policy, and has nothing to lose: a task
holds all that its result depends on, so whoever does it comes to the same.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch

from envs import KnownNoOps, PassOrderingEnv, RewriteEnv
from envs.benchmarks import NamedModule, resolve_benchmarks
from envs.module_cache import MODULES
from experiments.outcomes.evaluation import Checker
from experiments.policies.config import (
    FusionTrainConfig,
    PassTrainConfig,
    RewriteTrainConfig,
    TrainConfig,
)
from experiments.policies.fusion_envs import fusion_env_maker
from experiments.policies.learner import (
    Learner,
    LearnerName,
    is_timed,
    learner_of,
    new_policy,
    reward_of,
)
from experiments.workers.startup import prepare_worker
from hlograph.isolation import FlightRecorder, Quarantine
from models.actor_critic import ActorCritic

Parameters = Mapping[str, np.ndarray]
"""A policy's state, by the name of the tensor."""


class RolloutWorker:
    """Does tasks, one after the other.

    Args:
        config: Settings of the run.
        recorder: Where each pass is noted before it runs.
    """

    def __init__(self, config: TrainConfig, recorder: FlightRecorder) -> None:
        self.config = replace(config, device="cpu")
        self.recorder = recorder
        self._known = None
        if isinstance(config, PassTrainConfig):
            self._known = KnownNoOps(_known_no_ops(config), config.known_no_ops_mib << 20)
        self._named: dict[Sequence[str], Sequence[NamedModule]] = {}
        self.checker = Checker()
        self._learners: dict[LearnerName, tuple[Learner, ActorCritic]] = {}
        MODULES.max_bytes = config.module_cache_mib << 20

    def __call__(self, task: "Task") -> Any:
        """Does a task.

        One thread of torch, whoever does it: the order of summation depends on their number.
        """
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return task.do(self)
        finally:
            torch.set_num_threads(threads)

    def policy(self, name: LearnerName, parameters: Parameters) -> tuple[Learner, ActorCritic]:
        """The learner of that name, and its policy with these parameters."""
        if name not in self._learners:
            learner = learner_of(name, self.config)
            self._learners[name] = (learner, new_policy(learner, self.config))
        learner, policy = self._learners[name]
        policy.load_state_dict({key: torch.tensor(value) for key, value in parameters.items()})
        return learner, policy

    @property
    def pass_config(self) -> PassTrainConfig:
        """The settings, of a run whose policies order passes.

        Raises:
            TypeError: It is another run.
        """
        if not isinstance(self.config, PassTrainConfig):
            raise TypeError(f"expected settings of pass ordering, got {type(self.config).__name__}")
        return self.config

    @property
    def plays_anew(self) -> bool:
        """Whether episodes that draw nothing do nothing twice in a state.

        Rewrites lead back to states as easily as forth, and some undo others; passes do not.
        """
        return isinstance(self.config, RewriteTrainConfig)

    def env_maker(
        self,
        learner: Learner,
        benchmarks: Sequence[str],
        quarantine: Quarantine,
        *,
        fresh: bool = False,
        learns: bool = True,
    ) -> Callable[[], gymnasium.Env[Any, Any]]:
        """A function that makes environments for the learner; see ``pass_env_maker``.

        Args:
            learner: As there, and so the rest.
            benchmarks: Names of what they hold.
            quarantine: What they do not try.
            fresh: Whether they begin with nothing known.
            learns: Whether rewards are looked at: if not, only last states are timed, and episodes
                go on to where they end.
        """
        config, named = self.config, self._resolved(benchmarks)
        if isinstance(config, FusionTrainConfig):
            return fusion_env_maker(config, named, quarantine, self.recorder, learns=learns)
        if not isinstance(config, RewriteTrainConfig):
            return self.pass_env_maker(learner, benchmarks, quarantine, fresh=fresh)
        return RewriteEnv(
            named,
            rules=learner.steps,
            max_candidates=config.max_candidates,
            reward="final-run-time" if is_timed(config) and not learns else config.reward,
            horizon=config.horizon if learns else config.play_horizon,
            costs=False,
            timings=True,
            quarantine=quarantine,
            recorder=self.recorder,
        ).fork

    def _resolved(self, benchmarks: Sequence[str]) -> Sequence[NamedModule]:
        """Benchmarks by name, which are looked up once for all tasks of a run."""
        benchmarks = tuple(benchmarks)
        if benchmarks not in self._named:
            self._named = {benchmarks: resolve_benchmarks(benchmarks)}
        return self._named[benchmarks]

    def pass_env_maker(
        self,
        learner: Learner,
        benchmarks: Sequence[str],
        quarantine: Quarantine,
        *,
        fresh: bool = False,
    ) -> Callable[[], PassOrderingEnv]:
        """A function that makes environments with the learner's observation.

        Args:
            learner: Whose environments they are.
            benchmarks: Names of what they hold.
            quarantine: States and passes that they do not try.
            fresh: Whether they begin with no pass that is known to change nothing, and keep what
                they find to themselves: episodes are the same, but take the time of the first.
        """
        config = self.pass_config
        return PassOrderingEnv(
            self._resolved(benchmarks),
            observation=learner.observation,
            reward=reward_of(learner, config),
            horizon=config.horizon,
            # XLA's cost analysis takes as long as a pass.
            costs=config.value_costs,
            timings=True,
            share_observations=True,
            no_op_bytes=config.no_op_mib << 20,
            quarantine=quarantine,
            recorder=self.recorder,
            known=KnownNoOps(max_bytes=config.known_no_ops_mib << 20) if fresh else self._known,
        ).fork


def _known_no_ops(config: PassTrainConfig) -> Path | None:
    """The file that the workers of this machine share."""
    if config.known_no_ops is not None or config.out is None or config.workers == "ray":
        return config.known_no_ops
    return config.out / "known_no_ops"


def make_rollout_worker(config: TrainConfig, recorder: FlightRecorder) -> RolloutWorker:
    """Makes the worker of a process that does nothing else."""
    prepare_worker()
    return RolloutWorker(config, recorder)


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """Something for a worker to do."""

    quarantine: Quarantine = field(default_factory=Quarantine)
    """Passes and rewrites that are not to be tried."""

    @abstractmethod
    def do(self, worker: RolloutWorker) -> Any:
        """Does it, in the worker's process."""
