"""Trials of searches, in a study that is saved as it grows and can be continued."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from experiments.evaluate.evaluation import Check, Outcome
from experiments.evaluate.study import STUDY, Study, Trial, trial_key
from experiments.workers.task_runner import TaskRunner
from experiments.workers.worker import Task
from hlograph.errors import WorkerLostError

_TRIES = 3  # of a task that loses its worker through no fault of its own


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
    for name, result in zip(plan.tasks, _results(runner, plan), strict=True):
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


def _results(runner: TaskRunner, plan: PlannedTrial) -> list[Any]:
    """Returns the result of each task, or the error of one that ended its worker."""
    tasks, may_lose = list(plan.tasks.values()), plan.starts is not None
    results = runner.run(tasks, "a search", give_up=may_lose)
    for _ in range(_TRIES - 1):
        again = [
            number
            for number, result in enumerate(results)
            if isinstance(result, WorkerLostError) and not result.to_blame
        ]
        if not again:
            break
        new = runner.run([tasks[number] for number in again], "a search", give_up=True)
        for number, result in zip(again, new, strict=True):
            results[number] = result
    return results


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
