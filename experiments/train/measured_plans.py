"""Measured plans of a run, each measured once, also over interruptions."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from experiments.evaluate.evaluation import Outcome
from experiments.evaluate.metrics import geometric_mean
from experiments.workers.task_runner import TaskRunner
from experiments.workers.tuning_tasks import MeasuredPlan, MeasurePlan
from hlograph.errors import WorkerLostError
from hlograph.storage.checked_file import read_checked_json, write_checked_json

Decisions = tuple[str, tuple[str, ...]]
"""A benchmark, and the decisions on it."""

FILE = "measured_plans.json"
_KIND, _VERSION = "measured plans", 1


class MeasuredPlans:
    """Measures the plans of outcomes beside jaxlib's default.

    Args:
        folder: Folder of the run, which keeps the measurements for the run to go on with.

    Raises:
        DamagedFileError: The file there is damaged.
        PlanError: It has a plan of another version.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._known: dict[Decisions, MeasuredPlan] = {}
        if self._path.exists():
            for benchmark, names, one in read_checked_json(self._path, _KIND, _VERSION)["plans"]:
                self._known[benchmark, tuple(names)] = MeasuredPlan.from_json(one)

    def __len__(self) -> int:
        return len(self._known)

    def of(self, outcomes: Iterable[Outcome], runner: TaskRunner) -> list[MeasuredPlan]:
        """Returns the measured plans of outcomes; measures those that are new.

        Args:
            outcomes: The outcomes.
            runner: Runs the measurements.

        Raises:
            OSError: The file cannot be written.
        """
        outcomes = list(outcomes)
        new = {_decisions(one): one for one in outcomes if _decisions(one) not in self._known}
        if new:
            self._measure(list(new.values()), runner)
        return [self._known[_decisions(outcome)] for outcome in outcomes]

    def _measure(self, outcomes: Sequence[Outcome], runner: TaskRunner) -> None:
        what = "measuring the plans"
        tasks = [MeasurePlan(outcome=outcome) for outcome in outcomes]
        found = runner.run(tasks, what, give_up=True, progress=what)
        for outcome, one in zip(outcomes, found, strict=True):
            lost = isinstance(one, WorkerLostError)
            self._known[_decisions(outcome)] = MeasuredPlan.lost(str(one)) if lost else one
        content = [[*key, one.to_json()] for key, one in self._known.items()]
        write_checked_json(self._path, _KIND, _VERSION, {"plans": content})


def measured_scalars(
    tag: str, measured: Sequence[float], predicted: Sequence[float]
) -> dict[str, float]:
    """Returns figures for the log: what plans came to, and how far predictions are off.

    Args:
        tag: Part of the log.
        measured: Measured ratios of the default's time over the plans'.
        predicted: The predicted ones.
    """
    plans = geometric_mean(measured)
    off = geometric_mean(predicted) / plans
    return {f"{tag}/plans": plans, f"{tag}/predicted_over_measured": off}


def _decisions(outcome: Outcome) -> Decisions:
    return outcome.benchmark, tuple(outcome.passes)
