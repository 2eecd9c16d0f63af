"""What a rollout worker is asked to do: to play a policy, to check what came of it, to measure."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import torch

import hlograph
from envs.run_times import RUN_TIMES, Start
from experiments.outcomes.benchmarks import REFERENCES, Reference, load, measured
from experiments.outcomes.evaluation import Check, Outcome
from experiments.policies.config import FusionTrainConfig
from experiments.policies.learner import LearnerName
from experiments.workers.collecting import Deck, RolloutStats, collect
from experiments.workers.lockstep import lockstep
from experiments.workers.playing import STOP_ABOVE, play_greedily, play_samples
from experiments.workers.stopwatch import Stopwatch
from experiments.workers.worker import Parameters, RolloutWorker, Task
from hlograph.errors import RewriteError
from hlograph.transforms.steps import take_step
from hlograph.transforms.xla_cpu import before_fusion
from models.rollout import Rollout


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
            return play_greedily(envs, policy, self.benchmarks, anew=worker.plays_anew)


@dataclass(frozen=True)
class PlaySamples(Task):
    """Plays several episodes on one benchmark and keeps the best; one alone is greedy."""

    learner: LearnerName
    parameters: Parameters
    benchmark: str
    samples: int
    seed: int
    stop_above: float = STOP_ABOVE
    """Of the greedy episode; see ``experiments.workers.playing.likeliest``."""

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
            outcome = play_samples(
                envs,
                policy,
                self.benchmark,
                self.samples,
                self.seed,
                self.stop_above,
                anew=worker.plays_anew,
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
