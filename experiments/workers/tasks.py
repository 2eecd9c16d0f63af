"""Tasks of a rollout worker: to collect experience, play, check and measure."""

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import torch

import hlograph
from envs.run_times import RUN_TIMES, Start
from experiments.evaluate.benchmarks import REFERENCES, Reference, load, measured
from experiments.evaluate.evaluation import Check, Outcome, followed, least_on_the_way
from experiments.policies.config import SKIP_BELOW, PolicyName
from experiments.policies.player import Episodes, play_greedily, play_samples
from experiments.workers.collecting import Deck, RolloutStats, collect
from experiments.workers.worker import Parameters, RolloutWorker, Task
from hlograph.decisions.benchmarks import NamedModule
from hlograph.module import take_step
from models.rollout import Rollout


@dataclass(frozen=True)
class Collected:
    """Experience of several environments in one iteration."""

    rollout: Rollout
    stats: RolloutStats
    seconds: Mapping[str, float]
    """Seconds by section: pass, featurisation, inference."""


@dataclass(frozen=True)
class Collect(Task):
    """Plays a policy and records experience for PPO."""

    kind: PolicyName
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
        kind, policy = worker.policy(self.kind, self.parameters)
        make_env = worker.env_maker(kind, self.benchmarks, self.quarantine)
        deck = Deck(self.benchmarks, self.deck_seed, self.player, self.players)
        generator = torch.Generator().manual_seed(self.action_seed)
        # PPO learns from what the policy chooses.
        with closing(Episodes(kind, policy, make_env, self.num_envs, 0.0)) as episodes:
            rollout, stats = collect(episodes, deck, generator, worker.config.horizon)
        return Collected(rollout, stats, dict(episodes.seconds))


@dataclass(frozen=True)
class Play(Task):
    """Plays one greedy episode on each of some benchmarks."""

    kind: PolicyName
    parameters: Parameters
    benchmarks: Sequence[str]
    actions: tuple[str, ...] = ()
    """Names of the actions that the policy knows; empty if the run's settings name them."""

    def do(self, worker: RolloutWorker) -> list[Outcome]:
        """Plays them side by side."""
        kind, policy = worker.policy(self.kind, self.parameters, self.actions)
        make_env = worker.env_maker(kind, self.benchmarks, self.quarantine, learns=False)
        with closing(Episodes(kind, policy, make_env, len(self.benchmarks))) as episodes:
            return play_greedily(episodes, self.benchmarks)


@dataclass(frozen=True)
class PlaySamples(Task):
    """Plays several episodes on one benchmark and keeps the best; one alone is greedy."""

    kind: PolicyName
    parameters: Parameters
    benchmark: str
    samples: int
    seed: int
    stop_above: float | None = None
    """See ``experiments.policies.player.Episodes.greedy``."""
    skip_below: float = SKIP_BELOW
    """See ``experiments.policies.player.Episodes``."""
    seconds: float | None = None
    """Wall time after which no further step is taken; None is no limit."""
    before: tuple[str, ...] = ()
    """Steps of another policy, which come first; the outcome has them, too."""

    def do(self, worker: RolloutWorker) -> tuple[Outcome, float]:
        """Returns the outcome, and the seconds that it took once the module was read."""
        kind, policy = worker.policy(self.kind, self.parameters)
        module = load(self.benchmark)
        size = module.op_count
        benchmark: str | NamedModule = self.benchmark
        if self.before:
            worker.recorder.begin(f"steps that were taken before, on {self.benchmark}".encode())
            for step in self.before:
                take_step(module, step)
            benchmark = NamedModule(self.benchmark, lambda: module)
        # Knowledge of earlier plays in this worker would shorten the time, by an unknown amount.
        make_env = worker.env_maker(kind, [benchmark], self.quarantine, fresh=True, learns=False)
        num_envs = min(self.samples, worker.config.envs_per_task)
        with closing(Episodes(kind, policy, make_env, num_envs, self.skip_below)) as episodes:
            begun = time.perf_counter()
            how = (self.samples, self.seed, self.stop_above, self.seconds)
            outcome = play_samples(episodes, self.benchmark, *how)
            seconds = time.perf_counter() - begun
        return replace(outcome, start=size, passes=(*self.before, *outcome.passes)), seconds


@dataclass(frozen=True)
class FollowByPipeline(Task):
    """Runs a reference pipeline from where an outcome ends; keeps the smallest on the way."""

    before: Outcome
    pipeline: str

    def do(self, worker: RolloutWorker) -> tuple[Outcome, float]:
        """Returns the outcome of both, and calls and seconds of the pipeline alone."""
        note = f"{self.pipeline} after a policy, on {self.before.benchmark}".encode()
        worker.recorder.begin(note, worker.config.check_seconds)
        module = self.before.replay()
        begun = time.perf_counter()
        least = least_on_the_way(module, self.pipeline)
        return followed(self.before, least), time.perf_counter() - begun


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
class MeasureReferences(Task):
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
        """Returns the reason why it does not run, or None."""
        worker.recorder.begin(f"running {self.benchmark}".encode(), worker.config.check_seconds)
        try:
            module = load(self.benchmark)
            RUN_TIMES.check(Start(module, module))
        except hlograph.HloError as error:
            return f"does not run: {error}"
        finally:
            worker.recorder.end()
        return None


@dataclass(frozen=True)
class Rebuild(Task):
    """Brings a benchmark into a state that an episode has reached."""

    kind: PolicyName
    benchmark: str
    passes: Sequence[str]
    """Names of passes, or places of rewrites."""

    def do(self, worker: RolloutWorker) -> str | None:
        """Returns the state as HLO text; None if no passes or rewrites lead to it."""
        module = load(self.benchmark)
        worker.recorder.begin(f"passes that were run before, on {self.benchmark}".encode())
        state = worker.kind(self.kind).rebuilt(module, self.passes)
        return None if state is None else state.to_text()
