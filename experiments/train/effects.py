"""Teaches a trained policy which passes change a module; see `models.effects`.

The policy plays the training benchmarks, and each episode goes on by the reference pipeline that
often follows a policy. What each call did is what the predictions are learned from.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch

import hlograph
from experiments.evaluate.evaluation import Outcome
from experiments.policies.config import SKIP_BELOW, PolicyName
from experiments.policies.evaluator import Evaluation
from experiments.policies.kind import STOP, MakeEnv, PolicyKind
from experiments.policies.player import Choose, Episodes, JointStep, play_drawn, play_greedily
from experiments.workers.task_runner import TaskRunner, parameters_of
from experiments.workers.worker import Parameters, RolloutWorker, Task
from hlograph.transforms.pipelines import Pipeline
from models.actor_critic import ActorCritic
from models.config import EffectHeadConfig
from models.effects import (
    EffectErrors,
    EffectHead,
    ObservedEffects,
    effect_errors,
    fit_effects,
)

FOLLOWER = "xla-simplify"
"""Pipeline that goes on from the episodes."""

_FOLLOWED_HORIZON = 1_000
"""Steps that are enough for an episode and the pipeline after it."""


class ObservedEpisodes(Episodes):
    """Episodes that skip no action, and keep what each action did.

    Args:
        observed: Receives what actions did, step by step.
        kind: This and what follows: see ``Episodes``.
        policy: See there.
        make_env: See there.
    """

    def __init__(
        self,
        observed: list[ObservedEffects],
        kind: PolicyKind,
        policy: ActorCritic,
        make_env: MakeEnv,
    ) -> None:
        super().__init__(kind, policy, make_env, skip_below=0.0)
        self._observed = observed

    def step(self, choose: Choose) -> JointStep:
        """Takes an action in each running episode; see ``Episodes.step``."""
        stop = self.kind.outputs.index(STOP)
        recent = self.recency(sorted(self.running), stop)
        joint = super().step(choose)
        actions = np.array(joint.actions)
        rows = np.flatnonzero(actions != stop)
        changed = np.array([after.info["changed"] for after in joint.after.values()], bool)
        self._observed.append(
            ObservedEffects(
                encoded=self.table.vectors(joint.seen.numbers).numpy(force=True)[rows],
                context=joint.seen.context.numpy()[rows],
                recency=recent[rows],
                action=actions[rows],
                changed=changed[rows],
            )
        )
        return joint


@dataclass(frozen=True)
class ObserveEffects(Task):
    """Plays a policy and the follower after it, and keeps what each call did."""

    kind: PolicyName
    parameters: Parameters
    benchmarks: Sequence[str]
    episodes: int
    seed: int

    def do(self, worker: RolloutWorker) -> ObservedEffects:
        """Plays one greedy episode on each benchmark, and others that draw their actions."""
        kind, policy = worker.policy(self.kind, self.parameters)
        pipeline = hlograph.pipelines[FOLLOWER]
        follows = pipeline.passes <= set(kind.outputs)
        makers = [
            worker.env_maker(kind, self.benchmarks, self.quarantine, learns=False, horizon=horizon)
            for horizon in (None, _FOLLOWED_HORIZON)
        ]
        observed: list[ObservedEffects] = []
        policy_plays, pipeline_plays = (
            ObservedEpisodes(observed, kind, policy, make_env) for make_env in makers
        )
        with closing(policy_plays), closing(pipeline_plays):
            for benchmark in self.benchmarks:
                for number in range(self.episodes):
                    if number:
                        outcome = play_drawn(policy_plays, benchmark, self.seed + number)
                    else:
                        (outcome,) = play_greedily(policy_plays, [benchmark])
                    if follows:
                        _follow(pipeline_plays, outcome, pipeline)
        return ObservedEffects.joined(observed)


def _follow(episodes: Episodes, before: Outcome, pipeline: Pipeline) -> None:
    """Goes on by a reference pipeline from where an outcome of the policy ends.

    Args:
        episodes: Environments with `_FOLLOWED_HORIZON`, of which one is used.
        before: Outcome of the policy.
        pipeline: The pipeline, of passes that the policy knows. Those that are masked are not
            called.
    """
    action_of = {name: action for action, name in enumerate(episodes.kind.outputs)}
    episodes.running.clear()
    episodes.begin({0: before.benchmark})
    for name in before.passes:
        episodes.take(0, action_of[name])
    calls = pipeline.calls()
    changed: bool | None = None

    def choose(_: Sequence[int], seen: Evaluation) -> list[int]:
        entry = calls.send(changed)
        while entry is not None and not seen.mask[0, action_of[entry.name]]:
            entry = calls.send(False)
        return [action_of[STOP] if entry is None else action_of[entry.name]]

    while episodes.running:
        changed = bool(episodes.step(choose).after[0].info["changed"])


def observe(
    runner: TaskRunner,
    kind: PolicyKind,
    policy: ActorCritic,
    benchmarks: Sequence[str],
    episodes: int,
    seed: int,
    what: str,
) -> ObservedEffects:
    """Plays a policy in the runner's workers, and returns what each call did.

    Args:
        runner: Runs the tasks.
        kind: Kind of the policy.
        policy: The policy.
        benchmarks: Benchmarks to play.
        episodes: Episodes on each; the first is greedy.
        seed: Seed of the others.
        what: Description for the progress bar.
    """
    parameters, size = parameters_of(policy), runner.config.envs_per_task
    tasks = [
        ObserveEffects(
            kind=kind.name,
            parameters=parameters,
            benchmarks=benchmarks[begin : begin + size],
            episodes=episodes,
            seed=seed,
        )
        for begin in range(0, len(benchmarks), size)
    ]
    results = runner.run(tasks, what, keep_losses=True, progress=what)
    return ObservedEffects.joined([each for each in results if isinstance(each, ObservedEffects)])


def learn_effects(
    runner: TaskRunner,
    kind: PolicyKind,
    policy: ActorCritic,
    train: Sequence[str],
    config: EffectHeadConfig,
) -> Iterator[float]:
    """Trains the predictions of a policy, which stays as it is otherwise.

    Args:
        runner: Runs the episodes.
        kind: Kind of the policy, which knows its actions by name.
        policy: The policy, on the CPU.
        train: Benchmarks to play.
        config: Hyper-parameters.

    Yields:
        The mean cross-entropy of each epoch, in nats.
    """
    seed = runner.config.seed
    what = f"{kind.name}: effects"
    observed = observe(runner, kind, policy, train, config.episodes, seed, what)
    generator = torch.Generator().manual_seed(seed)
    yield from fit_effects(cast(EffectHead, policy.effects), observed, config, generator)


def held_out_errors(
    runner: TaskRunner, kind: PolicyKind, policy: ActorCritic, benchmarks: Sequence[str]
) -> EffectErrors:
    """Returns the errors of predictions in greedy episodes on other benchmarks.

    Args:
        runner: Runs the episodes.
        kind: Kind of the policy.
        policy: The policy, on the CPU.
        benchmarks: The benchmarks.
    """
    observed = observe(runner, kind, policy, benchmarks, 1, 0, f"{kind.name}: held-out effects")
    return effect_errors(cast(EffectHead, policy.effects), observed, SKIP_BELOW)
