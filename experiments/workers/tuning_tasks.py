"""Tasks of tuning: to predict a benchmark's times, and to measure the plans of decisions."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from experiments.evaluate.benchmarks import load
from experiments.evaluate.evaluation import Outcome
from experiments.policies.config import TuningTrainConfig
from experiments.policies.tuning import predictor
from experiments.workers.worker import RolloutWorker, Task
from hlograph.decisions.plan_states import PREDICTED, PlanStates
from hlograph.errors import HloError
from hlograph.measuring.trial import Effort, Job, MeasurementRequest
from hlograph.measuring.worker import MeasuringWorker
from hlograph.plans import Plan, Program
from hlograph.plans.knobs import Point

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
            found = {DEFAULT: default.time.seconds, RULES: default.time.seconds}
            for action in default.actions:
                if action.value == PREDICTED and not action.knob:
                    with suppress(HloError):  # together they may save too little
                        point = process.after(Point(), action)
                        found[RULES] = process.state(point).time.seconds
        except HloError as error:
            return str(error)
        finally:
            worker.recorder.end()
        return {name: max(round(1e9 * seconds), 1) for name, seconds in found.items()}


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
            found = MeasuringWorker(job, worker.recorder)(MeasurementRequest(plan, effort))
        except HloError as error:
            return MeasuredPlan.lost(str(error), plan)
        if found.measured is None:
            return MeasuredPlan.lost(found.error, plan)
        measured = found.measured
        return MeasuredPlan(plan, measured.ratio, measured.low, measured.high, "")


def decided(outcome: Outcome, config: TuningTrainConfig) -> Plan:
    """Returns the plan of the decisions of an outcome.

    Raises:
        HloError: A decision is not offered any more.
    """
    program = Program.of(load(outcome.benchmark))
    process = PlanStates(program, predict=predictor(config.times))
    return process.plan(process.follow(outcome.passes))
