"""Trials of searches, in a study that is saved as it grows and can be continued.

A comparison of searches has competitors, and cells: groups of benchmarks with a budget or an
objective. Each competitor has a trial in each cell with each of its seeds.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from experiments.evaluate.best_known import known_of
from experiments.evaluate.evaluation import Check, Outcome
from experiments.evaluate.study import STUDY, Study, Trial, trial_key
from experiments.paper.settings import ExperimentConfig
from experiments.policies.config import TrainConfig, to_json
from experiments.workers.player import all_references
from experiments.workers.task_runner import TaskRunner
from experiments.workers.worker import Task, pool_of
from hlograph.errors import HloError, WorkerLostError


@dataclass(frozen=True)
class PlannedTrial:
    """A method with one seed on one group of benchmarks, before it has run."""

    group: str
    method: str
    seed: int
    tasks: Mapping[str, Task]
    """Task of each benchmark. Its result has an outcome, seconds and a curve."""
    keeps_curves: bool = True
    """True to keep the curves. An episode of a policy is one point and no curve."""
    starts: Mapping[str, int] | None = None
    """Op counts of the benchmarks. A task that hangs or ends its worker then counts as the
    unchanged benchmark, with a failed check. None runs such a task again without the pass that
    is to blame; if no pass is, the study ends with the error."""

    @property
    def key(self) -> str:
        """Key of the trial; see ``Trial.key``."""
        return trial_key(self.group, self.method, self.seed)


class Cell(NamedTuple):
    """Benchmarks with what a search of them is to do: its budget or its objective."""

    group: str
    """Name of the group of trials in tables."""
    benchmarks: Sequence[str]
    aim: Any
    """Budget or objective."""


@dataclass(frozen=True)
class Competitor:
    """A method of a comparison of searches."""

    name: str
    """Name shown in tables."""
    seeds: Sequence[int]
    task: Callable[[str, Any, int], Task]
    """Makes the task for a benchmark, the aim of a cell, and a seed."""
    aims: Sequence[Any]
    """Aims that it can have."""
    keeps_curves: bool = True
    """See ``PlannedTrial.keeps_curves``."""


def planned_trials(
    cells: Sequence[Cell],
    competitors: Sequence[Competitor],
    starts: Mapping[str, int] | None = None,
) -> list[PlannedTrial]:
    """Plans the trials, cell by cell.

    Args:
        cells: The cells; those without benchmarks have no trials.
        competitors: The methods.
        starts: See ``PlannedTrial.starts``.
    """
    return [
        PlannedTrial(
            cell.group,
            competitor.name,
            seed,
            {name: competitor.task(name, cell.aim, seed) for name in cell.benchmarks},
            competitor.keeps_curves,
            starts,
        )
        for cell in cells
        if cell.benchmarks
        for competitor in competitors
        if cell.aim in competitor.aims
        for seed in competitor.seeds
    ]


@contextmanager
def begun_study(
    name: str,
    config: ExperimentConfig,
    settings: TrainConfig,
    folder: Path,
    benchmarks: Sequence[str],
    notes: Sequence[str],
) -> Iterator[tuple[TaskRunner, Study]]:
    """Yields what runs tasks, and a study without trials.

    Args:
        name: Name of the study.
        config: Settings of the experiment.
        settings: Settings of the workers.
        folder: Folder for the records of lost workers.
        benchmarks: Names of the benchmarks, of which the references are measured. Those that
            cannot be read are named in the study's notes.
        notes: Notes for the reader.

    Raises:
        HloError: None of the benchmarks can be read.
    """
    with pool_of(settings) as pool:
        runner = TaskRunner(settings, pool, folder)
        references, left_out = all_references(runner, benchmarks)
        if not references:
            raise HloError("no benchmark is left: " + "; ".join(left_out))
        best = known_of(references)
        told = [*notes, *left_out]
        yield (
            runner,
            Study(name, config.preset, to_json(config), references, [], best, {}, told),
        )


def run_trials(
    runner: TaskRunner, study: Study, planned: Sequence[PlannedTrial], folder: Path
) -> Study:
    """Runs planned trials, and saves the study after each of them.

    Args:
        runner: Runs the tasks.
        study: The study, without trials.
        planned: The trials. Those that an earlier run left in the folder are not run again.
        folder: Folder of the study.

    Returns:
        The study with all planned trials, in their order.
    """
    done = {}
    if (folder / STUDY).exists():
        done = {trial.key: trial for trial in Study.load(folder / STUDY).trials}
    for plan in tqdm(planned, unit="trial", disable=None):
        if plan.key not in done:
            tqdm.write(f"{plan.group}: {plan.method}, seed {plan.seed}: {len(plan.tasks)} modules")
            done[plan.key] = run_trial(runner, plan)
            save_part(replace(study, trials=list(done.values())), folder)
    return replace(study, trials=[done[plan.key] for plan in planned])


def save_part(study: Study, folder: Path) -> None:
    """Saves a study that is not complete, so that a run that is ended can be continued."""
    replace(study, notes=[*study.notes, "This run has not come to its end."]).save(folder)


def run_trial(runner: TaskRunner, plan: PlannedTrial) -> Trial:
    """Runs one trial and checks its outcomes."""
    outcomes: list[Outcome] = []
    seconds: list[float] = []
    curves = {}
    lost: dict[int, WorkerLostError] = {}
    tasks, may_lose = list(plan.tasks.values()), plan.starts is not None
    results = runner.run(tasks, "a search", give_up=may_lose)
    for name, result in zip(plan.tasks, results, strict=True):
        if isinstance(result, WorkerLostError):
            assert plan.starts is not None
            lost[len(outcomes)] = result
            outcomes.append(Outcome(name, plan.starts[name], plan.starts[name], (), 0))
        else:
            outcomes.append(result.outcome)
            if plan.keeps_curves and result.curve:
                curves[name] = result.curve
        seconds.append(result.seconds)
    checks = runner.check(outcomes)
    for number, error in lost.items():
        problem = f"its search {error.kind.replace('_', ' ')}: {error}"
        checks[number] = Check(problem, checks[number].verdict)
    return Trial(plan.method, plan.seed, plan.group, outcomes, checks, seconds, curves)


def timed_out(trials: Sequence[Trial], limit: float, besides: Collection[str] = ()) -> list[str]:
    """Returns a note on the trials that reached the time limit, if there are any.

    Args:
        trials: All trials.
        limit: Seconds for each benchmark.
        besides: Groups whose searches have a budget of seconds instead.
    """
    names = [
        f"{trial.method}, seed {trial.seed}, on {outcome.benchmark} ({trial.group})"
        for trial in trials
        if trial.group not in besides
        for outcome, seconds in zip(trial.outcomes, trial.seconds, strict=True)
        if seconds >= limit
    ]
    if not names:
        return []
    return [
        f"Reached the time limit of {limit:g} s, at which a search ends and its best state counts: "
        f"{'; '.join(names)}."
    ]
