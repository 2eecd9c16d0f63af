"""Rewards that end in what was measured."""

import math

from envs.rewards import LogDrop
from experiments.evaluate.evaluation import Outcome
from experiments.train.measured_plans import MeasuredPlans, measured_scalars
from experiments.workers.collecting import TrainingEpisode
from experiments.workers.task_runner import Iteration, TaskRunner

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
    known = len(plans)
    measured = [one.ratio or 1.0 for one in plans.of(map(_outcome, episodes), runner)]
    predicted = [episode.start_op_count / episode.op_count for episode in episodes]
    for episode, real, said in zip(episodes, measured, predicted, strict=True):
        added = _SCALE * math.log(real / said)
        added = min(max(added, -LARGEST), LARGEST)
        iteration.rollout.reward[episode.last, episode.env] += added
        episode.reward += added
    scalars = measured_scalars("measured_train", measured, predicted)
    return scalars | {"measured_train/new": (len(plans) - known) / len(episodes)}


def _outcome(episode: TrainingEpisode) -> Outcome:
    sizes = episode.start_op_count, episode.op_count
    return Outcome(episode.benchmark, *sizes, tuple(episode.changes), episode.steps)
