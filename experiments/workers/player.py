"""Plays the policies of checkpoints on any benchmarks, in worker processes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from experiments.evaluate.benchmarks import ALL_REFERENCES, Reference
from experiments.evaluate.evaluation import Outcome
from experiments.evaluate.study import Trial
from experiments.policies.checkpoint import Checkpoint, policy_of
from experiments.policies.config import SKIP_BELOW, PassTrainConfig, Workers
from experiments.policies.kind import PolicyKind
from experiments.workers.task_runner import TaskRunner, parameters_of
from experiments.workers.tasks import FollowByPipeline, MeasureReferences, PlaySamples
from experiments.workers.worker import Task, pool_of
from hlograph.errors import HloError, WorkerLostError
from models.actor_critic import ActorCritic


@dataclass(frozen=True)
class Player:
    """The policy of one checkpoint, and workers that play it."""

    checkpoint: Checkpoint
    kind: PolicyKind
    policy: ActorCritic
    runner: TaskRunner
    left_out: list[str] = field(default_factory=list)
    """A note on each benchmark that was left out of a trial, since its worker was lost."""
    skip_below: float = SKIP_BELOW
    """Probability that a pass changes the module, as the policy predicts, below which it is not
    called, and that the episode finds fewer instructions, below which it ends."""

    def method(self, samples: int = 1, stop_above: float | None = None) -> str:
        """Returns the name in tables of a way to play."""
        name = self.kind.label
        if stop_above is not None:
            name += f", stops above {stop_above:g}"
        if self.skip_below != SKIP_BELOW:
            name += f", skips below {self.skip_below:g}"
        return name if samples == 1 else f"{name}, best of {samples}"

    def references(self, names: Sequence[str]) -> tuple[dict[str, Reference], list[str]]:
        """Returns all references by benchmark, and a note on each benchmark that is left out."""
        return all_references(self.runner, names)

    def trial(
        self,
        group: str,
        names: Sequence[str],
        samples: int = 1,
        seed: int = 0,
        stop_above: float | None = None,
        seconds: float | None = None,
        keep_losses: bool = False,
        before: Trial | None = None,
    ) -> Trial:
        """Plays the policy on benchmarks, one after the other, and checks the results.

        Args:
            group: Name of the benchmarks in tables.
            names: The benchmarks.
            samples: Episodes on each, of which the best is kept; one is greedy.
            seed: Seed of all episodes but the first, which is greedy.
            stop_above: Probability of stopping above which a greedy episode ends; None is that of
                the kind of policy.
            seconds: Wall time for each benchmark; the best state until then is its result.
                None is no limit.
            keep_losses: True if benchmarks that cost their worker are left out.
            before: Trial of another policy on these benchmarks, from whose results this one goes
                on; the result has the steps, calls and seconds of both.

        Returns:
            The trial, whose seed is that of the training.

        Raises:
            WorkerLostError: A benchmark cost its worker, and losses are not kept.
        """
        parameters = parameters_of(self.policy)
        first = {} if before is None else {one.benchmark: one for one in before.outcomes}
        tasks = [
            PlaySamples(
                kind=self.kind.name,
                parameters=parameters,
                benchmark=name,
                samples=samples,
                seed=seed,
                stop_above=stop_above,
                skip_below=self.skip_below,
                seconds=seconds,
                before=first[name].passes if name in first else (),
            )
            for name in names
        ]
        method = self.method(samples, stop_above)
        if before is not None:
            method = f"{before.method}, then {method}"
        return self.checked(method, group, *self._done(tasks, names, method, keep_losses, before))

    def followed(self, before: Trial, pipeline: str, keep_losses: bool = False) -> Trial:
        """Runs a reference pipeline from the results of a trial, and checks what is smallest.

        Args:
            before: The trial.
            pipeline: Name of the pipeline.
            keep_losses: True if benchmarks that cost their worker are left out.

        Returns:
            A trial with the steps, calls and seconds of both.

        Raises:
            WorkerLostError: A benchmark cost its worker, and losses are not kept.
        """
        tasks = [FollowByPipeline(outcome, pipeline) for outcome in before.outcomes]
        names = [outcome.benchmark for outcome in before.outcomes]
        method = f"{before.method}, then {pipeline}"
        done = self._done(tasks, names, method, keep_losses, before)
        return self.checked(method, before.group, *done)

    def _done(
        self,
        tasks: Sequence[Task],
        names: Sequence[str],
        method: str,
        keep_losses: bool,
        before: Trial | None,
    ) -> tuple[list[Outcome], list[float]]:
        """Has workers play on benchmarks; returns outcomes and seconds, with the costs before."""
        earlier: dict[str, tuple[int, float]] = {}
        if before is not None:
            costs = zip(before.outcomes, before.seconds, strict=True)
            earlier = {outcome.benchmark: (outcome.calls, spent) for outcome, spent in costs}
        outcomes, taken = list[Outcome](), list[float]()
        done = self.results(tasks, names, "an evaluation", method, keep_losses)
        for name, (outcome, seconds) in done:
            calls, spent = earlier.get(name, (0, 0.0))
            outcomes.append(replace(outcome, calls=outcome.calls + calls))
            taken.append(seconds + spent)
        return outcomes, taken

    def results(
        self,
        tasks: Sequence[Task],
        names: Sequence[str],
        description: str,
        method: str,
        keep_losses: bool = False,
    ) -> list[tuple[str, Any]]:
        """Runs one task for each benchmark.

        Args:
            tasks: The tasks.
            names: The benchmark of each.
            description: What a task is, for messages.
            method: Name of the method in tables, for the progress bar.
            keep_losses: True if benchmarks that cost their worker are left out.

        Returns:
            Benchmarks and their results. ``left_out`` has a note on each that is missing.

        Raises:
            WorkerLostError: A benchmark cost its worker, and losses are not kept.
        """
        results = self.runner.run(tasks, description, keep_losses=keep_losses, progress=method)
        done = list[tuple[str, Any]]()
        for name, result in zip(names, results, strict=True):
            if isinstance(result, WorkerLostError):
                self.left_out.append(f"{name} is left out: its worker was lost: {result}")
            else:
                done.append((name, result))
        return done

    def checked(
        self,
        method: str,
        group: str,
        outcomes: Sequence[Outcome],
        seconds: Sequence[float],
        curves: Mapping[str, Sequence[tuple[int, float, int]]] | None = None,
    ) -> Trial:
        """Checks results, and returns their trial.

        Args:
            method: Name of the method in tables.
            group: Name of the benchmarks in tables.
            outcomes: The results.
            seconds: Wall time that each took.
            curves: Improvements of a search, by benchmark.
        """
        seed = self.checkpoint.config["seed"]
        checks = self.runner.check(outcomes)
        return Trial(method, seed, group, outcomes, checks, seconds, curves or {})


@contextmanager
def player(
    checkpoint: Checkpoint,
    folder: Path,
    check_samples: int = 2,
    num_workers: int | None = None,
    workers: Workers = "processes",
    skip_below: float = SKIP_BELOW,
) -> Iterator[Player]:
    """Yields a player, whose workers end with the block.

    Args:
        checkpoint: The policy.
        folder: Folder for the log of lost workers and for passes in quarantine.
        check_samples: Number of random inputs on which results are compared with their originals.
        num_workers: Number of worker processes; None is one a core.
        workers: Kind of workers.
        skip_below: See ``Player``.

    Raises:
        ValueError: None of its actions exists any more, or it decides about fusions.
    """
    kind, policy = policy_of(checkpoint)
    if kind.table != "op counts":
        raise ValueError(
            f"expected a policy that orders passes or rewrites, got {kind.name}: it changes no op "
            "count, and its training ends with a table of its own"
        )
    settings = checkpoint.settings()
    if isinstance(settings, PassTrainConfig):
        settings = replace(settings, known_no_ops=None)
    config = replace(
        settings,
        # Nothing learns, so rewards are not used, and some of them take time.
        reward="op-count-drop",
        samples=check_samples,
        workers=workers,
        num_workers=num_workers,
        device="cpu",
        deterministic=False,  # workers inherit it from this process
        out=None,
    )
    with pool_of(config) as pool:
        runner = TaskRunner(config, pool, folder)
        runner.quarantine = runner.quarantine.with_pairs(checkpoint.quarantine)
        yield Player(checkpoint, kind, policy, runner, skip_below=skip_below)


def all_references(
    runner: TaskRunner, names: Sequence[str]
) -> tuple[dict[str, Reference], list[str]]:
    """Runs all reference pipelines on each benchmark.

    Args:
        runner: Runs the tasks.
        names: Names of the benchmarks.

    Returns:
        The references by benchmark, and a note on each benchmark that is left out because a
        pipeline failed on it.
    """
    tasks = [MeasureReferences(benchmark=name, pipelines=ALL_REFERENCES) for name in names]
    description = "reference pipelines"
    results = runner.run(tasks, description, give_up=True, progress=description)
    references, notes = {}, []
    for name, result in zip(names, results, strict=True):
        if isinstance(result, HloError):
            notes.append(f"{name} is left out: a reference pipeline failed on it: {result}")
        else:
            references[name] = result
    return references, notes
