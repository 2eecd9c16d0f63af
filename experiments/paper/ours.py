"""Trains this project's own policies for an experiment."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import SCALARS, EventAccumulator

from experiments.benchmarks import REFERENCES, Reference
from experiments.config import GNNTrainConfig
from experiments.crew import Crew
from experiments.learner import LearnerName, learner_of
from experiments.study import Trial
from experiments.training import Training


def train_policy(
    learner: LearnerName,
    config: GNNTrainConfig,
    folder: Path,
    train: Sequence[str],
    references: Mapping[str, Reference],
    crew: Crew,
    labels: tuple[str, str],
) -> Trial:
    """Trains a policy, plays it on the held-out benchmarks and checks what comes out.

    One that was begun in the folder is continued.

    Args:
        learner: Which policy.
        config: Settings of the training.
        folder: Where checkpoints and events go.
        train: Benchmarks to train on.
        references: Of the held-out benchmarks, which are these.
        crew: Plays, with workers that know these settings.
        labels: Name of the method and of the group of benchmarks.
    """
    known = crew.references(train) | dict(references)
    left = [name for name in train if name in known]
    # The learning curve is of the benchmarks that are measured; it chooses nothing.
    config = replace(config, keep_best=False)
    names = (left, list(references), list(references))
    training = Training(learner_of(learner, config), config, folder, *names, known, crew)
    outcomes = training.run()
    method, group = labels
    return Trial(
        method,
        config.seed,
        group,
        outcomes,
        crew.check(outcomes),
        training=learning_curve(folder),
    )


def learning_curve(folder: Path) -> list[tuple[int, dict[str, float]]]:
    """Held-out count ratios by pass calls, as a training wrote them, interrupted or not.

    Args:
        folder: Where its events are.
    """
    # 0 keeps all points, where the default draws some.
    events = EventAccumulator(str(folder), size_guidance={SCALARS: 0}).Reload()
    curve: dict[int, dict[str, float]] = {}
    for name in REFERENCES:
        for point in events.Scalars(f"op_count_ratio_validation/{name}"):
            curve.setdefault(point.step, {})[name] = point.value
    return sorted(curve.items())
