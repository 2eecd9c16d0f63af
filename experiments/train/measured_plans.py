"""Predicts times of benchmarks and measures plans of decisions, each plan once in a run."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from experiments.evaluate.benchmarks import load
from experiments.evaluate.evaluation import Outcome
from experiments.evaluate.metrics import geometric_mean
from experiments.policies.config import TuningTrainConfig
from experiments.policies.tuning import predictor
from experiments.workers.task_runner import TaskRunner
from experiments.workers.worker import RolloutWorker, Task
from hlograph.decisions.plan_states import PREDICTED, PlanStates
from hlograph.errors import HloError, WorkerLostError
from hlograph.measuring.trial import Effort, Job, MeasurementRequest
from hlograph.measuring.worker import MeasuringWorker
from hlograph.plans import Plan, Program
from hlograph.plans.knobs import Point
from hlograph.storage.checked_file import read_checked_json, write_checked_json

DEFAULT, RULES = "default", "rules"
"""References: jaxlib's default, and the rules for time that are predicted to save time."""

_PAIRS = 40


@dataclass(frozen=True)
class PredictTimes(Task):
    """Predicts the times of a benchmark's references."""

    benchmark: str

    def do(self, worker: RolloutWorker) -> Mapping[str, int] | str:
        """Returns nanoseconds by reference, or the reason why there are none."""
        config = worker.config
        assert isinstance(config, TuningTrainConfig)
        worker.recorder.begin(f"predicting {self.benchmark}".encode(), config.check_seconds)
        try:
            process = PlanStates(Program.of(load(self.benchmark)), predict=predictor(config.times))
            default = process.state(Point())
            seconds_of = {DEFAULT: default.time.seconds, RULES: default.time.seconds}
            for action in default.actions:
                if action.value == PREDICTED and not action.knob:
                    with suppress(HloError):  # together they may save too little
                        point = process.after(Point(), action)
                        seconds_of[RULES] = process.state(point).time.seconds
        except HloError as error:
            return str(error)
        finally:
            worker.recorder.end()
        return {name: max(round(1e9 * seconds), 1) for name, seconds in seconds_of.items()}


class MeasuredPlan(NamedTuple):
    """The plan of an outcome, measured beside jaxlib's default."""

    plan: Plan
    ratio: float
    """Median ratio default / plan; 0 if it was not timed."""
    low: float
    """Lower end of its 95 % interval."""
    high: float
    error: str
    """The reason why it was not timed; empty if it was."""

    @classmethod
    def lost(cls, error: str, plan: Plan = Plan()) -> "MeasuredPlan":  # noqa: B008 (plans are frozen)
        """Returns the result of a plan that was not timed."""
        return cls(plan, 0.0, 0.0, 0.0, error)

    def to_json(self) -> dict[str, Any]:
        """Returns the fields as a JSON object."""
        return {**self._asdict(), "plan": self.plan.to_json()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "MeasuredPlan":
        """Returns the result that ``to_json`` wrote.

        Raises:
            PlanError: The plan is of another version.
        """
        return cls(**{**content, "plan": Plan.from_json(content["plan"])})


@dataclass(frozen=True)
class MeasurePlan(Task):
    """Measures the plan of an outcome."""

    outcome: Outcome

    def do(self, worker: RolloutWorker) -> MeasuredPlan:
        """Takes the decisions again, and measures their plan."""
        config, benchmark = worker.config, self.outcome.benchmark
        assert isinstance(config, TuningTrainConfig)
        worker.recorder.begin(f"measuring {benchmark}".encode(), config.check_seconds)
        try:
            plan = decided(self.outcome, config)
        except HloError as error:
            return MeasuredPlan.lost(str(error))
        finally:
            worker.recorder.end()
        if plan.is_empty:
            return MeasuredPlan(plan, 1.0, 1.0, 1.0, "")
        job = Job(Program.of(load(benchmark)), seed=config.seed)
        effort = Effort(_PAIRS, 0.005, config.budget, thorough=False)
        try:
            result = MeasuringWorker(job, worker.recorder)(MeasurementRequest(plan, effort))
        except HloError as error:
            return MeasuredPlan.lost(str(error), plan)
        if result.measured is None:
            return MeasuredPlan.lost(result.error, plan)
        measured = result.measured
        return MeasuredPlan(plan, measured.ratio, measured.low, measured.high, "")


def decided(outcome: Outcome, config: TuningTrainConfig) -> Plan:
    """Returns the plan of the decisions of an outcome.

    Raises:
        HloError: A decision is not offered any more.
    """
    program = Program.of(load(outcome.benchmark))
    process = PlanStates(program, predict=predictor(config.times))
    return process.plan(process.follow(outcome.passes))


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
            for benchmark, names, plan in read_checked_json(self._path, _KIND, _VERSION)["plans"]:
                self._known[benchmark, tuple(names)] = MeasuredPlan.from_json(plan)

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
        new = {
            _decisions(episode): episode
            for episode in outcomes
            if _decisions(episode) not in self._known
        }
        if new:
            self._measure(list(new.values()), runner)
        return [self._known[_decisions(outcome)] for outcome in outcomes]

    def _measure(self, outcomes: Sequence[Outcome], runner: TaskRunner) -> None:
        description = "measuring the plans"
        tasks = [MeasurePlan(outcome=outcome) for outcome in outcomes]
        results = runner.run(tasks, description, give_up=True, progress=description)
        for outcome, result in zip(outcomes, results, strict=True):
            lost = isinstance(result, WorkerLostError)
            self._known[_decisions(outcome)] = MeasuredPlan.lost(str(result)) if lost else result
        content = [[*key, result.to_json()] for key, result in self._known.items()]
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
