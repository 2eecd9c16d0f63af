"""Rewards that end in what was measured."""

import math
from collections.abc import Sequence

from experiments.outcomes.evaluation import Outcome
from experiments.outcomes.metrics import geometric_mean
from experiments.training.measured_plans import MeasuredPlans
from experiments.workers.collecting import Episode
from experiments.workers.task_runner import Iteration, TaskRunner

SCALE = 100.0
"""Reward for a plan that takes a factor e less time; that of ``envs.rewards.LogDrop``."""

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
    known = len(plans)
    measured = [one.ratio or 1.0 for one in plans.of(map(_outcome, episodes), runner)]
    predicted = [episode.start_op_count / episode.op_count for episode in episodes]
    for episode, real, said in zip(episodes, measured, predicted, strict=True):
        added = SCALE * math.log(real / said)
        added = min(max(added, -LARGEST), LARGEST)
        iteration.rollout.reward[episode.last, episode.env] += added
        episode.reward += added
    return {
        "measured_train/plans": geometric_mean(measured),
        "measured_train/predicted_over_measured": _over(predicted, measured),
        "measured_train/new": (len(plans) - known) / len(episodes),
    }


def _outcome(episode: Episode) -> Outcome:
    sizes = episode.start_op_count, episode.op_count
    return Outcome(episode.benchmark, *sizes, tuple(episode.changes), episode.steps)


def _over(predicted: Sequence[float], measured: Sequence[float]) -> float:
    return geometric_mean(predicted) / geometric_mean(measured)
