"""Runs the tasks of a run on its workers, and repeats those that lose their worker.

A lost task is repeated from its start by a new worker, without the pass that is to blame. Its
result depends on the task alone, so a run in which workers were killed ends like one without
losses, and a run in which a pass crashes ends the same each time.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from experiments.evaluate.benchmarks import Reference, recorded
from experiments.evaluate.evaluation import Check, Outcome
from experiments.policies.config import PolicyName, TrainConfig
from experiments.workers.collecting import RolloutStats
from experiments.workers.run_events import RunEvents, phase_bar
from experiments.workers.tasks import (
    CheckOutcome,
    Collect,
    Collected,
    MeasureReferences,
    Play,
    Rebuild,
)
from experiments.workers.worker import Task
from hlograph.errors import HloError, WorkerLostError
from hlograph.isolation import (
    PassCall,
    Pool,
    Quarantine,
    Reproducer,
)
from hlograph.isolation.pass_call import Pair
from models.actor_critic import ActorCritic
from models.rollout import Rollout, merged

QUARANTINE = "quarantine"
_TRIES = 5  # times that a task may lose its worker if no pass is to blame


@dataclass(frozen=True)
class Iteration:
    """Experience of one iteration of training."""

    rollout: Rollout
    stats: RolloutStats
    seconds: Mapping[str, float]
    """Seconds by section, added up over the workers."""


class TaskRunner:
    """Runs the tasks of a run on its workers.

    Args:
        config: Settings of the run.
        pool: The workers.
        folder: The run's folder, for the quarantine and the events.
    """

    def __init__(self, config: TrainConfig, pool: Pool, folder: Path) -> None:
        self.config, self._pool, self.folder = config, pool, folder
        self._checked: dict[Outcome, Check] = {}
        self.events = RunEvents(folder)
        self.quarantine = Quarantine()
        """Passes and rewrites that no task tries. Tasks add those that end their worker."""

    def collect(
        self, name: PolicyName, policy: ActorCritic, benchmarks: Sequence[str], seed: Sequence[int]
    ) -> Iteration:
        """Plays a policy for one horizon in all environments.

        Args:
            name: Kind of the policy.
            policy: The policy.
            benchmarks: Names of the benchmarks to play.
            seed: Seed of the benchmarks that are dealt and the actions that are drawn.
        """
        config = self.config
        sizes = _shares(config.num_envs, config.envs_per_task)
        deck_seed, *action_seeds = map(
            int, np.random.SeedSequence(seed).generate_state(1 + len(sizes))
        )
        parameters = parameters_of(policy)
        tasks = [
            Collect(
                kind=name,
                parameters=parameters,
                benchmarks=benchmarks,
                player=number,
                players=len(sizes),
                num_envs=size,
                deck_seed=deck_seed,
                action_seed=action_seeds[number],
            )
            for number, size in enumerate(sizes)
        ]
        return _joined(self.run(tasks, f"a rollout of {name}"))

    def play(
        self,
        name: PolicyName,
        policy: ActorCritic,
        benchmarks: Sequence[str],
        progress: str | None = None,
        actions: tuple[str, ...] = (),
    ) -> list[Outcome]:
        """Plays one greedy episode on each benchmark, in new environments.

        Args:
            name: Kind of the policy.
            policy: The policy.
            benchmarks: Names of the benchmarks.
            progress: Description of the progress bar; None shows none.
            actions: Names of the actions that the policy knows; empty if the run's settings name
                them.
        """
        size = self.config.envs_per_task
        parameters = parameters_of(policy)
        tasks = [
            Play(name, parameters, benchmarks[begin : begin + size], actions)
            for begin in range(0, len(benchmarks), size)
        ]
        played = self.run(tasks, f"an evaluation of {name}", progress=progress)
        return [outcome for part in played for outcome in part]

    def check(self, outcomes: Sequence[Outcome], progress: str = "checking results") -> list[Check]:
        """Checks outcomes on fresh modules. An outcome whose check loses its worker fails.

        Outcomes that differ only in calls, run times and rewards are checked once.

        Args:
            outcomes: The outcomes.
            progress: Description of the progress bar.
        """
        plain = [outcome.without_cost() for outcome in outcomes]
        new = [outcome for outcome in dict.fromkeys(plain) if outcome not in self._checked]
        tasks = [CheckOutcome(outcome=o, samples=self.config.samples) for o in new]
        results = self.run(tasks, "a check", give_up=True, progress=progress)
        for outcome, result in zip(new, results, strict=True):
            lost = isinstance(result, WorkerLostError)
            self._checked[outcome] = Check.lost(result) if lost else result
        return [self._checked[outcome] for outcome in plain]

    def references(self, names: Sequence[str]) -> dict[str, Reference]:
        """Returns op counts at the start and after each reference pipeline, by benchmark.

        A benchmark that cannot be read, or on which a pipeline does not end, is reported and
        left out.
        """
        references = recorded(names)
        new = [name for name in names if name not in references]
        references |= self.measured(new, MeasureReferences, "reference pipelines")
        return {name: references[name] for name in names if name in references}

    def measured(
        self, names: Sequence[str], task: Callable[..., Task], what: str
    ) -> dict[str, Any]:
        """Returns a measurement by benchmark; those that failed are reported and left out.

        Args:
            names: The benchmarks.
            task: Class of the task that measures ``benchmark``. It returns an error, or the reason
                as a string, if there is no measurement.
            what: Description, for the log and the progress bar.
        """
        tasks = [task(benchmark=name) for name in names]
        results = zip(names, self.run(tasks, what, give_up=True, progress=what), strict=True)
        kept = {}
        for name, result in results:
            if isinstance(result, HloError | str):
                tqdm.write(f"left out: {name}: {result}")
            else:
                kept[name] = result
        return kept

    def run(
        self,
        tasks: Sequence[Task],
        what: str,
        *,
        give_up: bool = False,
        keep_losses: bool = False,
        progress: str | None = None,
        report: Callable[[Task, Any], None] | None = None,
    ) -> list[Any]:
        """Runs tasks, and repeats those that lose their worker until all are done.

        Args:
            tasks: The tasks.
            what: Description of one task, for the log.
            give_up: True if a task that is to blame for the loss of its worker is not repeated. Its
                result is the error.
            keep_losses: True if the result of a task that cannot be done is the error.
            progress: Description of the progress bar; None shows none.
            report: Called with a task and its result when the task ends.

        Returns:
            The results, in the order of the tasks.

        Raises:
            WorkerLostError: A task cannot be done: it lost its workers again and again, or one
                for a reason that repeats.
        """
        quarantine = self.quarantine
        pairs_of: dict[int, list[Pair]] = defaultdict(list)
        results: dict[int, Any] = {}
        misfortunes: Counter[int] = Counter()
        hopeless: set[int] = set()
        open_tasks = list(range(len(tasks)))
        with phase_bar(progress, len(tasks)) as bar:
            while open_tasks:
                jobs = [
                    replace(tasks[n], quarantine=quarantine.with_pairs(pairs_of[n]))
                    for n in open_tasks
                ]
                done = {}
                for number, result in self._pool.map(jobs):
                    done[open_tasks[number]] = result
                    if report is not None:
                        report(jobs[number], result)
                    bar.update(open_tasks[number] not in results)
                    results[open_tasks[number]] = result
                lost = {n: r for n, r in sorted(done.items()) if isinstance(r, WorkerLostError)}
                for n, error in lost.items():
                    pair = self._note(error, what)
                    # A pair that is in quarantine already was called all the same.
                    if pair is not None and pair not in (*quarantine, *pairs_of[n]):
                        pairs_of[n].append(pair)
                        if give_up:
                            hopeless.add(n)
                        continue
                    misfortunes[n] += 1
                    if not (error.to_blame or misfortunes[n] == _TRIES):
                        continue
                    if not (give_up or keep_losses):
                        raise error
                    hopeless.add(n)
                open_tasks = [n for n in lost if n not in hopeless]
        # Only now: the result of a task must not depend on what another found before it.
        self.quarantine = quarantine.with_pairs(
            pair for pairs in pairs_of.values() for pair in pairs
        )
        return [results[n] for n in range(len(tasks))]

    def _note(self, error: WorkerLostError, what: str) -> Pair | None:
        """Logs a loss, and returns the pair that is not to be tried again if a call is to blame."""
        pair = path = None
        if error.to_blame:
            try:
                call = PassCall.from_note(error.note or b"")
            except ValueError:  # the worker was not running a pass
                pass
            else:
                pair = call.pair
                path = self._reproducer(call, error)
        self.events.lost(error, what, path)
        return pair

    def _reproducer(self, call: PassCall, error: WorkerLostError) -> Path | None:
        """Saves the module on which a call ended a worker, rebuilt by the steps before it."""
        kind = self.config.kinds[0]
        rebuild = Rebuild(kind=kind, benchmark=call.benchmark, passes=call.applied)
        for _ in range(_TRIES):
            ((_, module),) = self._pool.map([rebuild])
            if isinstance(module, str):
                described = (error.kind, str(error), error.output, error.seconds)
                return Reproducer(call, *described, module).save(self.folder / QUARANTINE)
            if module is None or module.to_blame:
                break
        return None


def parameters_of(policy: ActorCritic) -> dict[str, np.ndarray]:
    """Returns a policy's parameters as arrays, to be sent to workers."""
    return {key: value.cpu().numpy() for key, value in policy.state_dict().items()}


def _shares(total: int, size: int) -> list[int]:
    """Splits environments into tasks of ``size``; the last may have less."""
    return [min(size, total - begin) for begin in range(0, total, size)]


def _joined(parts: Sequence[Collected]) -> Iteration:
    """Joins the parts of one iteration in the order of its tasks."""
    stats = RolloutStats()
    seconds: Counter[str] = Counter()
    first = 0
    for part in parts:
        stats.add(part.stats, first)
        first += part.rollout.reward.shape[1]
        seconds.update(part.seconds)
    return Iteration(merged([part.rollout for part in parts]), stats, dict(seconds))
