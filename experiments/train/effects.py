"""Teaches a trained policy which passes change a module, and when to end; see `models.effects`.

The policy plays the training benchmarks and does not stop by itself. What each call did, and
whether the episode found fewer instructions later, is what the predictions are learned from.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch

from experiments.policies.config import SKIP_BELOW, PolicyName
from experiments.policies.evaluator import Evaluation
from experiments.policies.kind import STOP, PolicyKind
from experiments.policies.player import Episodes, generator_of
from experiments.workers.task_runner import TaskRunner, parameters_of
from experiments.workers.worker import Parameters, RolloutWorker, Task
from models.actor_critic import ActorCritic, sample
from models.config import EffectHeadConfig
from models.effects import (
    EffectErrors,
    EffectHead,
    ObservedEffects,
    effect_errors,
    fit_effects,
)


@dataclass(frozen=True)
class ObserveEffects(Task):
    """Plays a policy to the horizon, and keeps what came of each call."""

    kind: PolicyName
    parameters: Parameters
    benchmarks: Sequence[str]
    episodes: int
    seed: int

    def do(self, worker: RolloutWorker) -> list[ObservedEffects]:
        """Plays one episode of likeliest passes on each benchmark, and others that draw them.

        Returns:
            The calls of each episode that has any.
        """
        kind, policy = worker.policy(self.kind, self.parameters)
        make_env = worker.env_maker(kind, self.benchmarks, self.quarantine, learns=False)
        observed: list[ObservedEffects] = []
        with closing(Episodes(kind, policy, make_env, skip_below=0.0)) as episodes:
            for benchmark in self.benchmarks:
                for number in range(self.episodes):
                    draws = generator_of(self.seed, benchmark, number) if number else None
                    observed += _observed(episodes, benchmark, draws)
        return observed


def _observed(
    episodes: Episodes, benchmark: str, draws: torch.Generator | None
) -> list[ObservedEffects]:
    """Plays an episode that ends where no pass is left or at the horizon; returns its calls.

    Args:
        episodes: Environments that skip no action, of which one is used.
        benchmark: Name of the benchmark.
        draws: Generator that draws the passes; None takes the likeliest ones.
    """
    stop = episodes.kind.outputs.index(STOP)

    def choose(_: Sequence[int], seen: Evaluation) -> list[int]:
        passes = seen.log_probs[:, :stop]
        if not seen.mask[0, :stop].any():
            return [stop]
        return [int(passes.argmax()) if draws is None else int(sample(passes, draws))]

    episodes.running.clear()
    sizes = [int(episodes.begin({0: benchmark})[0]["size"])]
    calls: list[tuple[np.ndarray, ...]] = []
    while episodes.running:
        recent = episodes.recency([0], stop + 1)
        seen, (action,), after = episodes.step(choose)
        if action == stop:
            break
        sizes.append(int(after[0].info["size"]))
        vectors = episodes.table.vectors(seen.numbers).numpy(force=True)
        changed = bool(after[0].info["changed"])
        row = (vectors, seen.context.numpy(), recent, np.array([action]), np.array([changed]))
        calls.append(row)
    if not calls:
        return []
    improved = np.array([min(sizes[n:]) < min(sizes[:n]) for n in range(1, len(sizes))])
    columns = map(np.concatenate, zip(*calls, strict=True))
    return [ObservedEffects(*columns, improved=improved)]


def observe(
    runner: TaskRunner,
    kind: PolicyKind,
    policy: ActorCritic,
    benchmarks: Sequence[str],
    episodes: int,
    seed: int,
    what: str,
) -> ObservedEffects | None:
    """Plays a policy in the runner's workers, and returns what came of each call.

    Args:
        runner: Runs the tasks.
        kind: Kind of the policy.
        policy: The policy.
        benchmarks: Benchmarks to play.
        episodes: Episodes on each; the first takes the likeliest passes.
        seed: Seed of the draws of the others.
        what: Description for the progress bar.

    Returns:
        All calls; None if there were none.
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
    calls = [episode for task in results if isinstance(task, list) for episode in task]
    return ObservedEffects.joined(calls) if calls else None


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
    if observed is not None:
        generator = torch.Generator().manual_seed(seed)
        yield from fit_effects(cast(EffectHead, policy.effects), observed, config, generator)


def held_out_errors(
    runner: TaskRunner, kind: PolicyKind, policy: ActorCritic, benchmarks: Sequence[str]
) -> EffectErrors | None:
    """Returns the errors of predictions in episodes of likeliest passes on other benchmarks.

    Args:
        runner: Runs the episodes.
        kind: Kind of the policy.
        policy: The policy, on the CPU.
        benchmarks: The benchmarks.

    Returns:
        The errors; None if no benchmark has a pass to call.
    """
    observed = observe(runner, kind, policy, benchmarks, 1, 0, f"{kind.name}: held-out effects")
    if observed is None:
        return None
    return effect_errors(cast(EffectHead, policy.effects), observed, SKIP_BELOW)
