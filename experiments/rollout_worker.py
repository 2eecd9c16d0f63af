"""What a rollout worker does: it plays a policy, and checks what came of it.

A worker owns its environments and its copy of the policy, and has nothing to lose: a task
holds all that its result depends on, so whoever does it comes to the same.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch

import hlograph
from envs import KnownNoOps, PassOrderingEnv, RewriteEnv
from envs.benchmarks import NamedModule, resolve_benchmarks
from envs.module_cache import MODULES
from envs.run_times import RUN_TIMES, Start
from experiments.benchmarks import REFERENCES, Reference, load, measured
from experiments.config import FusionTrainConfig, PassTrainConfig, RewriteTrainConfig, TrainConfig
from experiments.evaluation import STOP_ABOVE, Check, Checker, Outcome, play_greedily, play_samples
from experiments.fusion_envs import fusion_env_maker
from experiments.learner import Learner, LearnerName, is_timed, learner_of, new_policy, reward_of
from experiments.lockstep import lockstep
from experiments.rollout import Deck, RolloutStats, collect
from experiments.startup import prepare_worker
from experiments.stopwatch import Stopwatch
from hlograph.errors import RewriteError
from hlograph.isolation import FlightRecorder, Quarantine
from hlograph.steps import take_step
from hlograph.xla_cpu import before_fusion
from models.actor_critic import ActorCritic
from models.rollout import Rollout

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


@dataclass(frozen=True)
class Collected:
    """Experience of some environments over one iteration."""

    rollout: Rollout
    stats: RolloutStats
    seconds: Mapping[str, float]
    """By section: pass, featurisation, inference."""


@dataclass(frozen=True)
class Collect(Task):
    """Plays a policy and writes down what PPO needs."""

    learner: LearnerName
    parameters: Parameters
    benchmarks: Sequence[str]
    player: int
    """Number of this task among those of the iteration."""
    players: int
    num_envs: int
    deck_seed: int
    action_seed: int

    def do(self, worker: RolloutWorker) -> Collected:
        """Collects one horizon of each environment."""
        learner, policy = worker.policy(self.learner, self.parameters)
        clock = Stopwatch()
        make_env = worker.env_maker(learner, self.benchmarks, self.quarantine)
        with lockstep(make_env, self.num_envs) as envs:
            rollout, stats = collect(
                envs,
                policy,
                Deck(self.benchmarks, self.deck_seed, self.player, self.players),
                torch.Generator().manual_seed(self.action_seed),
                steps=worker.config.horizon,
                clock=clock,
            )
        return Collected(rollout, stats, clock.seconds)


@dataclass(frozen=True)
class Play(Task):
    """Plays one greedy episode on each of some benchmarks."""

    learner: LearnerName
    parameters: Parameters
    benchmarks: Sequence[str]

    def do(self, worker: RolloutWorker) -> list[Outcome]:
        """Plays them side by side."""
        learner, policy = worker.policy(self.learner, self.parameters)
        make_env = worker.env_maker(learner, self.benchmarks, self.quarantine, learns=False)
        with lockstep(make_env, len(self.benchmarks)) as envs:
            return play_greedily(envs, policy, self.benchmarks)


@dataclass(frozen=True)
class PlaySamples(Task):
    """Plays several episodes on one benchmark and keeps the best; one alone is greedy."""

    learner: LearnerName
    parameters: Parameters
    benchmark: str
    samples: int
    seed: int
    stop_above: float = STOP_ABOVE
    """Of the greedy episode; see ``experiments.evaluation.likeliest``."""

    def do(self, worker: RolloutWorker) -> tuple[Outcome, float]:
        """Returns the outcome, and the seconds that it took with the module already read."""
        learner, policy = worker.policy(self.learner, self.parameters)
        load(self.benchmark)
        # What earlier plays in this worker found out would shorten the time, by how much nobody
        # could tell.
        make_env = worker.env_maker(
            learner, [self.benchmark], self.quarantine, fresh=True, learns=False
        )
        with lockstep(make_env, min(self.samples, worker.config.envs_per_task)) as envs:
            begun = time.perf_counter()
            if self.samples == 1:
                (outcome,) = play_greedily(envs, policy, [self.benchmark], self.stop_above)
            else:
                outcome = play_samples(
                    envs, policy, self.benchmark, self.samples, self.seed, self.stop_above
                )
            return outcome, time.perf_counter() - begun


@dataclass(frozen=True)
class CheckOutcome(Task):
    """Checks an outcome on a fresh module, outside any environment."""

    outcome: Outcome
    samples: int

    def do(self, worker: RolloutWorker) -> Check:
        """Runs its passes again, verifies, and compares what both modules compute."""
        note = f"check of {self.outcome.benchmark}".encode()
        worker.recorder.begin(note, worker.config.check_seconds)
        return worker.checker.check(self.outcome, self.samples)


@dataclass(frozen=True)
class Measure(Task):
    """Runs reference pipelines on a benchmark."""

    benchmark: str
    pipelines: Sequence[str] = REFERENCES

    def do(self, worker: RolloutWorker) -> Reference | hlograph.HloError:
        """Measures it; returns the error if it cannot be read or XLA refuses it."""
        note = f"reference pipelines of {self.benchmark}".encode()
        worker.recorder.begin(note, worker.config.check_seconds)
        try:
            return measured(self.benchmark, self.pipelines)
        except hlograph.HloError as error:
            return error


@dataclass(frozen=True)
class TryRun(Task):
    """Compiles and runs a benchmark."""

    benchmark: str

    def do(self, worker: RolloutWorker) -> str | None:
        """Returns why it does not run, or None."""
        worker.recorder.begin(f"running {self.benchmark}".encode(), worker.config.check_seconds)
        try:
            module = load(self.benchmark)
            RUN_TIMES.check(Start(module, module))
        except hlograph.HloError as error:
            return str(error)
        finally:
            worker.recorder.end()
        return None


@dataclass(frozen=True)
class Rebuild(Task):
    """Brings a benchmark into a state that an episode came to."""

    benchmark: str
    passes: Sequence[str]
    """Names of passes, or places of rewrites."""

    def do(self, worker: RolloutWorker) -> str:
        """Returns the state as HLO text."""
        module = load(self.benchmark)
        worker.recorder.begin(f"passes that were run before, on {self.benchmark}".encode())
        if isinstance(worker.config, FusionTrainConfig):
            module = before_fusion(module)
        for name in self.passes:
            # One may have failed then too, and left the module as it was.
            with suppress(hlograph.PassError, RewriteError):
                take_step(module, name)
        return module.to_text()
