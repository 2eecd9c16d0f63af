"""The workers of a run, and what is done when one of them is lost.

A lost task is done again from its start, by a new worker, and without the pass that is to
blame. Since nothing but the task decides what comes out, a run in which workers were killed
ends like one in which none was; and one in which a pass crashes ends the same each time.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from experiments.outcomes.benchmarks import Reference, recorded
from experiments.outcomes.evaluation import Check, Outcome
from experiments.policies.config import TrainConfig
from experiments.policies.learner import LearnerName
from experiments.training.demonstrations import Demonstrate, Shown
from experiments.workers.collecting import RolloutStats
from experiments.workers.run_events import RunEvents
from experiments.workers.tasks import (
    CheckOutcome,
    Collect,
    Collected,
    Measure,
    Play,
    Rebuild,
    TryRun,
)
from experiments.workers.worker import RolloutWorker, Task, make_rollout_worker
from hlograph.errors import HloError, WorkerLostError
from hlograph.isolation import (
    FlightRecorder,
    InProcessPool,
    Limits,
    PassCall,
    Pool,
    Quarantine,
    Reproducer,
    WorkerPool,
)
from hlograph.isolation.pass_call import Pair
from models.actor_critic import ActorCritic
from models.cloning import Demonstrations
from models.rollout import Rollout, merged

PRELOADED = (
    "experiments.training.cli",
    "experiments.workers.worker",
    "experiments.workers.preload",
)
"""What workers begin with, so that a new one is there at once."""
QUARANTINE = "quarantine"
_TRIES = 5  # of a task that loses its workers through no fault of a pass

MakeWorker = Callable[[TrainConfig, FlightRecorder], RolloutWorker]


def pool_of(config: TrainConfig, make_worker: MakeWorker = make_rollout_worker) -> Pool:
    """The pool of workers that a run's settings ask for.

    Raises:
        HloError: Ray is not installed, or there is no such cluster.
    """
    if config.workers == "in-process":
        return InProcessPool(partial(RolloutWorker, config))
    limits = Limits(seconds=config.pass_seconds, memory=int(config.worker_memory_gib * (1 << 30)))
    work = (partial(make_worker, config), config.num_workers, limits, PRELOADED)
    return _ray_pool(*work, config.ray_address) if config.workers == "ray" else WorkerPool(*work)


def _ray_pool(*arguments: Any) -> Pool:
    """A ``RayPool``; only who asks for one waits for Ray to be imported."""
    try:
        from experiments.workers.ray.pool import RayPool
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise HloError(
            "--workers ray needs Ray, which is not installed: pip install 'hlograph[ray]'"
        ) from error
    return RayPool(*arguments)


@dataclass(frozen=True)
class Iteration:
    """What was collected in one iteration."""

    rollout: Rollout
    stats: RolloutStats
    seconds: Mapping[str, float]
    """By section, added up over the workers."""


class Crew:
    """Has workers do the work of a run.

    Args:
        config: Settings of the run.
        pool: Does tasks.
        folder: The run's folder, for the quarantine and the events.
    """

    def __init__(self, config: TrainConfig, pool: Pool, folder: Path) -> None:
        self._config, self._pool, self._folder = config, pool, folder
        self._checked: dict[Outcome, Check] = {}
        self.events = RunEvents(folder)
        self.quarantine = Quarantine()
        """Passes and rewrites that no task tries; what a task found is in it afterwards."""

    def collect(
        self, name: LearnerName, policy: ActorCritic, benchmarks: Sequence[str], seed: Sequence[int]
    ) -> Iteration:
        """Plays a policy for one horizon in all environments.

        Args:
            name: The learner.
            policy: Its policy.
            benchmarks: Names of the benchmarks to play.
            seed: Decides which benchmarks are dealt and which actions are drawn.
        """
        config = self._config
        sizes = _shares(config.num_envs, config.envs_per_task)
        deck_seed, *action_seeds = map(
            int, np.random.SeedSequence(seed).generate_state(1 + len(sizes))
        )
        parameters = parameters_of(policy)
        tasks = [
            Collect(
                learner=name,
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

    def demonstrate(
        self, name: LearnerName, ways: Mapping[str, tuple[str, ...]], seed: int
    ) -> Demonstrations:
        """Goes ways that searches found, as experience for a learner to imitate.

        Args:
            name: The learner.
            ways: By benchmark, the passes to imitate.
            seed: Decides what is tried in vain beside them.
        """
        names, size = list(ways), self._config.envs_per_task
        tasks = [
            Demonstrate(
                learner=name,
                ways={each: ways[each] for each in names[begin : begin + size]},
                seed=seed,
            )
            for begin in range(0, len(names), size)
        ]
        shown: list[Shown] = self.run(tasks, f"demonstrations for {name}")
        for other in shown[1:]:
            shown[0].extend(other)
        return shown[0].demonstrations()

    def play(
        self, name: LearnerName, policy: ActorCritic, benchmarks: Sequence[str]
    ) -> list[Outcome]:
        """Plays one greedy episode on each benchmark.

        The environments are new, so nothing is known yet of any pass that does nothing: a
        policy pays for each of its mistakes with a call.
        """
        size = self._config.envs_per_task
        parameters = parameters_of(policy)
        tasks = [
            Play(learner=name, parameters=parameters, benchmarks=benchmarks[begin : begin + size])
            for begin in range(0, len(benchmarks), size)
        ]
        return [outcome for part in self.run(tasks, f"an evaluation of {name}") for outcome in part]

    def check(self, outcomes: Sequence[Outcome]) -> list[Check]:
        """Checks outcomes on fresh modules; one whose check loses its worker fails it.

        How many calls it took to come to its passes, and how long they run, is nothing to check:
        equal ones are checked once.
        """
        plain = [replace(outcome, calls=0, run_time=None, reward=None) for outcome in outcomes]
        new = [outcome for outcome in dict.fromkeys(plain) if outcome not in self._checked]
        tasks = [CheckOutcome(outcome=o, samples=self._config.samples) for o in new]
        found = self.run(tasks, "a check", give_up=True)
        for outcome, result in zip(new, found, strict=True):
            lost = isinstance(result, WorkerLostError)
            self._checked[outcome] = Check.lost(result) if lost else result
        return [self._checked[outcome] for outcome in plain]

    def references(self, names: Sequence[str]) -> dict[str, Reference]:
        """Op counts at the start and after each reference pipeline, by benchmark.

        A benchmark that cannot be read, or that a pipeline does not come to an end on, is told
        of and left out.
        """
        found = recorded(names)
        new = [name for name in names if name not in found]
        tasks = [Measure(benchmark=name) for name in new]
        for name, result in zip(
            new, self.run(tasks, "reference pipelines", give_up=True), strict=True
        ):
            if isinstance(result, Reference):
                found[name] = result
            else:
                tqdm.write(f"left out: {name}: {result}")
        return {name: found[name] for name in names if name in found}

    def that_run(self, names: Sequence[str]) -> list[str]:
        """The benchmarks that can be compiled and run; the others are told of and left out."""
        tasks = [TryRun(benchmark=name) for name in names]
        found = self.run(tasks, "running the benchmarks", give_up=True)
        kept: list[str] = []
        for name, problem in zip(names, found, strict=True):
            if problem is None:
                kept.append(name)
            else:
                tqdm.write(f"left out: {name} does not run: {problem}")
        return kept

    def run(self, tasks: Sequence[Task], what: str, *, give_up: bool = False) -> list[Any]:
        """Does tasks; those that are lost again, until all are done.

        Args:
            tasks: The tasks.
            what: What they are, for the log.
            give_up: Whether a task that lost its worker is left undone; its result is the error.

        Raises:
            WorkerLostError: A task lost its workers time and again.
        """
        known = self.quarantine
        found: dict[int, list[Pair]] = defaultdict(list)
        results: dict[int, Any] = {}
        misfortunes: Counter[int] = Counter()
        left = list(range(len(tasks)))
        while left:
            jobs = [replace(tasks[n], quarantine=known.with_pairs(found[n])) for n in left]
            done = {left[number]: result for number, result in self._pool.map(jobs)}
            results |= done
            lost = {n: r for n, r in sorted(done.items()) if isinstance(r, WorkerLostError)}
            for n, error in lost.items():
                pair = self._note(error, what)
                if pair is not None:
                    found[n].append(pair)
                    continue
                misfortunes[n] += 1
                if not give_up and (error.to_blame or misfortunes[n] == _TRIES):
                    raise error
            left = [] if give_up else list(lost)
        # Only now: what one task finds out must not depend on what another found before.
        self.quarantine = known.with_pairs(pair for pairs in found.values() for pair in pairs)
        return [results[n] for n in range(len(tasks))]

    def _note(self, error: WorkerLostError, what: str) -> Pair | None:
        """Writes down a loss; returns what is not to be tried again if a call is to blame."""
        pair = path = None
        if error.to_blame:
            try:
                call = PassCall.from_note(error.note or b"")
            except ValueError:  # it was at something else
                pass
            else:
                pair = call.pair
                path = self._reproducer(call, error)
        self.events.lost(error, what, path)
        return pair

    def _reproducer(self, call: PassCall, error: WorkerLostError) -> Path | None:
        """Saves the module that a call ended a worker on, as the steps before it rebuild it."""
        rebuild = Rebuild(benchmark=call.benchmark, passes=call.applied)
        for _ in range(_TRIES):
            ((_, module),) = self._pool.map([rebuild])
            if isinstance(module, str):
                described = (error.kind, str(error), error.output, error.seconds)
                return Reproducer(call, *described, module).save(self._folder / QUARANTINE)
            if module.to_blame:
                break
        return None


def parameters_of(policy: ActorCritic) -> dict[str, np.ndarray]:
    """A policy's parameters as arrays, to be sent to workers."""
    return {key: value.cpu().numpy() for key, value in policy.state_dict().items()}


def _shares(total: int, size: int) -> list[int]:
    """Splits environments into tasks of ``size``; the last may have fewer."""
    return [min(size, total - begin) for begin in range(0, total, size)]


def _joined(parts: Sequence[Collected]) -> Iteration:
    """One iteration of what its tasks collected, in their order."""
    stats = RolloutStats()
    seconds: Counter[str] = Counter()
    for part in parts:
        stats.add(part.stats)
        seconds.update(part.seconds)
    return Iteration(merged([part.rollout for part in parts]), stats, dict(seconds))
