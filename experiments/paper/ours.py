"""Trains this project's own policies for an experiment."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import SCALARS, EventAccumulator

from experiments.outcomes.benchmarks import REFERENCES
from experiments.outcomes.evaluation import Measure
from experiments.outcomes.study import Trial
from experiments.paper.benchmarks import Benchmarks
from experiments.policies.config import GNNTrainConfig
from experiments.policies.learner import LearnerName, learner_of
from experiments.training.loop import Training
from experiments.workers.crew import Crew, pool_of


@dataclass(frozen=True)
class Variant:
    """One kind of policy, to be trained with several seeds."""

    method: str
    """What tables call it."""
    learner: LearnerName
    settings: GNNTrainConfig
    """Of its training, with any seed."""
    folder: Path
    """Where its checkpoints and events go."""


def train_variants(
    variants: Iterable[Variant], seeds: Sequence[int], benchmarks: Benchmarks, folder: Path
) -> list[Trial]:
    """Trains each variant with each seed, and checks what it makes of the held-out benchmarks.

    Rewards, encoders and what states show are settings of workers: variants that differ in them
    have workers of their own.

    Args:
        variants: What is trained; those of equal settings one after the other.
        seeds: Seeds of its trainings.
        benchmarks: What it is trained on and measured by.
        folder: Where lost workers are written down.
    """
    trials = []
    for settings, same in groupby(variants, lambda variant: variant.settings):
        with pool_of(settings) as pool:
            crew = Crew(settings, pool, folder)
            for variant, seed in product(same, seeds):
                print(f"{variant.method}, seed {seed}")
                trials.append(train_policy(variant, seed, benchmarks, crew))
    return trials


def train_policy(variant: Variant, seed: int, benchmarks: Benchmarks, crew: Crew) -> Trial:
    """Trains a policy, plays it on the held-out benchmarks and checks what comes out.

    One that was begun in its folder is continued.

    Args:
        variant: Which policy.
        seed: Seed of the training.
        benchmarks: What it is trained on and measured by.
        crew: Plays, with workers that know the variant's settings.
    """
    folder = variant.folder / f"seed{seed}"
    known = crew.references(benchmarks.train) | {**benchmarks.validation, **benchmarks.test}
    names = (
        [name for name in benchmarks.train if name in known],
        list(benchmarks.validation),
        list(benchmarks.test),
    )
    # What other agents end with is their last policy, too: validation chooses nothing here.
    config = replace(variant.settings, seed=seed, keep_best=False)
    learner = learner_of(variant.learner, config)
    outcomes = Training(learner, config, folder, *names, Measure.of_counts(known), crew).run()
    checks = crew.check(outcomes)
    curve = learning_curve(folder)
    return Trial(variant.method, seed, benchmarks.group, outcomes, checks, training=curve)


def learning_curve(folder: Path) -> list[tuple[int, dict[str, float]]]:
    """Count ratios on validation by pass calls, as a training wrote them, interrupted or not.

    Args:
        folder: Where its events are.
    """
    # 0 keeps all points, where the default draws some.
    events = EventAccumulator(str(folder), size_guidance={SCALARS: 0}).Reload()
    there = events.Tags()[SCALARS]
    curve: dict[int, dict[str, float]] = {}
    for name in REFERENCES:
        tag = f"op_count_ratio_validation/{name}"
        for point in events.Scalars(tag) if tag in there else ():
            curve.setdefault(point.step, {})[name] = point.value
    return sorted(curve.items())
