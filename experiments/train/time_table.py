"""The final table of tuning policies, and rewards of theirs that end in what was measured."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from envs.rewards import LogDrop
from experiments.evaluate.evaluation import Measure, Outcome
from experiments.evaluate.metrics import geometric_mean
from experiments.evaluate.results import markdown_table
from experiments.policies.config import TuningTrainConfig
from experiments.policies.kind import PolicyKind
from experiments.train.final_tables import FinalTable, Splits, ValidationScore, without
from experiments.train.measured_plans import (
    DEFAULT,
    MeasuredPlan,
    MeasuredPlans,
    PredictTimes,
    measured_scalars,
)
from experiments.train.scaled_programs import scaled_programs
from experiments.workers.collecting import TrainingEpisode
from experiments.workers.task_runner import Iteration, TaskRunner
from hlograph.execution.bootstrap import bootstrap_interval
from hlograph.measuring.worker import UNCHANGED
from hlograph.storage.atomic_write import write_text_atomically
from hlograph.storage.checked_file import write_checked_json

_HEADS = ("program", "decisions", "predicted", "measured", "95 % interval", "note")


class TimeTable(FinalTable):
    """Predicted times, and measured ones of jaxlib's default over the policies' plans.

    Args:
        kinds: Kinds of policy that are trained.
        folder: Folder of the run.

    Raises:
        DamagedFileError: The file with the measurements of the run so far is damaged.
    """

    def __init__(self, kinds: Sequence[PolicyKind], folder: Path) -> None:
        super().__init__(kinds, folder)
        self._plans = MeasuredPlans(folder)

    def prepare(self, splits: Splits, runner: TaskRunner) -> Splits:
        """See ``FinalTable.prepare``. Adds training programs in other sizes, if settings say so.

        What jaxlib does not compile is left out.
        """
        config = runner.config
        assert isinstance(config, TuningTrainConfig)
        draws = 0 if config.workers == "ray" else config.scaled
        scaled = scaled_programs(splits.train, draws, runner, self.folder / "scaled")
        splits = replace(splits, train=[*splits.train, *scaled])
        times = runner.measured(splits.all, PredictTimes, "predicting the benchmarks")
        self.measure = Measure("predicted_time", times)
        return without(splits, times)

    def correct(self, iteration: Iteration, runner: TaskRunner) -> Mapping[str, float]:
        """See ``FinalTable.correct``. Measures the plans, if the settings say so."""
        config = runner.config
        assert isinstance(config, TuningTrainConfig)
        if config.returns == "predicted":
            return {}
        return end_in_measurements(iteration, self._plans, runner)

    def judge(self, outcomes: Sequence[Outcome], runner: TaskRunner) -> ValidationScore | None:
        """See ``FinalTable.judge``. Measures the plans, unless the settings say otherwise."""
        config = runner.config
        assert isinstance(config, TuningTrainConfig)
        if not config.measure_validation:
            return None
        measured = self._plans.of(outcomes, runner)
        timed = [
            (plan.ratio, _predicted(outcome, self.measure))
            for outcome, plan in zip(outcomes, measured, strict=True)
            if plan.ratio
        ]
        scalars = {"measured_validation/kept": geometric_mean([_kept(plan) for plan in measured])}
        if timed:
            scalars |= measured_scalars("measured_validation", *zip(*timed, strict=True))
        return ValidationScore(scalars["measured_validation/kept"], scalars)

    def finish(self, outcomes: Mapping[str, Sequence[Outcome]], runner: TaskRunner) -> str:
        """See ``FinalTable.finish``."""
        self._plans.of((plan for of_policy in outcomes.values() for plan in of_policy), runner)
        labels = {kind.name: kind.label for kind in self.kinds}
        content, texts = [], []
        for name, of_policy in outcomes.items():
            times = self._plans.of(of_policy, runner)
            texts.append(f"{labels[name]}\n\n{table_text(of_policy, times, self.measure)}")
            content += [
                {"policy": name, "benchmark": outcome.benchmark, "decisions": list(outcome.passes)}
                | plan.to_json()
                for outcome, plan in zip(of_policy, times, strict=True)
            ]
        write_checked_json(self.folder / "results.json", "tuning results", 2, {"programs": content})
        text = "\n\n".join(texts)
        write_text_atomically(self.folder / "table.txt", text + "\n")
        return text


def _predicted(outcome: Outcome, measure: Measure) -> float:
    return measure.references[outcome.benchmark][DEFAULT] / outcome.op_count


def _kept(measured: MeasuredPlan) -> float:
    """Returns the ratio; 1 where the default would be kept, as the plan is not faster for sure."""
    return measured.ratio if measured.low > 1 else 1.0


def table_text(
    outcomes: Sequence[Outcome], measured: Sequence[MeasuredPlan], measure: Measure
) -> str:
    """Returns the table and the geometric means as text.

    Args:
        outcomes: Results of the policy.
        measured: Measurements of their plans. Those that were refused, or were not faster for
            certain, count as 1: the default would be kept.
        measure: Predicted times of the references.
    """
    if not outcomes:
        return "no benchmark was held out"
    rows, kept = [], []
    for outcome, plan in zip(outcomes, measured, strict=True):
        predicted = _predicted(outcome, measure)
        kept.append(_kept(plan))
        timed = (
            (f"{plan.ratio:.3f}", f"{plan.low:.3f} to {plan.high:.3f}") if plan.ratio else ("", "")
        )
        note = "same code" if plan.error == UNCHANGED else plan.error[:60]
        decisions = str(len(outcome.passes))
        rows.append((outcome.benchmark, decisions, f"{predicted:.3f}", *timed, note))
    low, high = bootstrap_interval(kept)
    timed = [plan.ratio for plan in measured if plan.ratio]
    lines = [
        f"measured, with the default where a plan is not faster: {geometric_mean(kept):.3f} "
        f"({low:.3f} to {high:.3f}); as it is, {len(timed)} plans: {_mean(timed):.3f}",
        "predicted: "
        + ", ".join(f"{name} / policy {ratio:.3f}" for name, ratio in measure.of(outcomes).items()),
    ]
    return "\n".join([markdown_table(_HEADS, rows), "", *lines])


def _mean(ratios: Sequence[float]) -> float:
    return geometric_mean(ratios) if ratios else math.nan


_SCALE = LogDrop().scale  # of the rewards that are corrected
LARGEST = 150.0
"""Bound of what is added, so that a plan many times slower than predicted is no outlier."""


def end_in_measurements(
    iteration: Iteration, plans: MeasuredPlans, runner: TaskRunner
) -> dict[str, float]:
    """Measures the plan of each episode, and corrects the reward of its last decision.

    The rewards of an episode are the drops of the predicted time, so that each decision is told
    apart. With 100 ln(measured / predicted) added to the last one, where both are ratios of the
    default's time over the plan's, they sum to the drop of the measured time, less the prices of
    the decisions. A plan that cannot be used counts as the default.

    Args:
        iteration: Experience of an iteration; its rewards are changed.
        plans: The measurements so far.
        runner: Runs the measurements.

    Returns:
        Figures for the log, by tag.
    """
    episodes = iteration.stats.episodes
    if not episodes:
        return {}
    before = len(plans)
    measured = [plan.ratio or 1.0 for plan in plans.of(map(_outcome, episodes), runner)]
    predicted = [episode.start_op_count / episode.op_count for episode in episodes]
    for episode, real, said in zip(episodes, measured, predicted, strict=True):
        added = _SCALE * math.log(real / said)
        added = min(max(added, -LARGEST), LARGEST)
        iteration.rollout.reward[episode.last, episode.env] += added
        episode.reward += added
    scalars = measured_scalars("measured_train", measured, predicted)
    return scalars | {"measured_train/new": (len(plans) - before) / len(episodes)}


def _outcome(episode: TrainingEpisode) -> Outcome:
    sizes = episode.start_op_count, episode.op_count
    return Outcome(episode.benchmark, *sizes, tuple(episode.changes), episode.steps)
