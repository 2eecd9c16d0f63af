"""Trains this project's own policies for an experiment and measures them on held-out benchmarks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import SCALARS, EventAccumulator

from experiments.evaluate.benchmarks import (
    REFERENCES,
    Reference,
    held_out_benchmarks,
    recorded,
    training_benchmarks,
)
from experiments.evaluate.best_known import known_of
from experiments.evaluate.evaluation import Measure
from experiments.evaluate.study import Study, Trial
from experiments.paper.settings import Settings
from experiments.policies.config import GNNTrainConfig, PolicyName
from experiments.policies.config_json import to_json
from experiments.policies.kind import policy_kind
from experiments.train.final_tables import Splits
from experiments.train.loop import Training
from experiments.workers.pools import pool_of
from experiments.workers.references import all_references
from experiments.workers.task_runner import TaskRunner


@dataclass(frozen=True)
class Benchmarks:
    """Benchmarks to train on, to draw learning curves from and to measure policies by."""

    group: str
    """Name of the measured benchmarks in tables."""
    train: Sequence[str]
    validation: Mapping[str, Reference]
    """Benchmarks of the learning curves; no choice is made by them."""
    test: Mapping[str, Reference]
    """Measured benchmarks, of families that no policy was trained on."""
    notes: Sequence[str]
    """Notes on benchmarks that are left out."""


@dataclass(frozen=True)
class Variant:
    """One kind of policy, to be trained with several seeds."""

    method: str
    """Name shown in tables."""
    kind: PolicyName
    settings: GNNTrainConfig
    """Settings of its training; the seed is replaced."""
    folder: Path
    """Folder for its checkpoints and events."""


def training_study(
    name: str,
    config: Settings,
    variants: Iterable[Variant],
    folder: Path,
    notes: Sequence[str],
    other_trials: Callable[[Benchmarks], Sequence[Trial]] = lambda benchmarks: (),
) -> Study:
    """Trains each variant with each seed and measures it on the held-out benchmarks.

    Rewards, encoders and observations are settings of workers, so variants that differ in them have
    workers of their own. Trainings that were begun in the folder are continued.

    Args:
        name: Name of the experiment.
        config: Its settings.
        variants: The policies; those of equal settings one after the other.
        folder: Folder for lost workers; each variant has its own for its trainings.
        notes: Notes for the reader.
        other_trials: Makes trials of other agents on the same benchmarks; they come first.
    """
    benchmarks = _benchmarks_of(config, folder)
    trials = [*other_trials(benchmarks)]
    for settings, same in groupby(variants, lambda variant: variant.settings):
        with pool_of(settings) as pool:
            runner = TaskRunner(settings, pool, folder)
            for variant, seed in product(same, config.seeds):
                print(f"{variant.method}, seed {seed}")
                trials.append(_train(variant, seed, benchmarks, runner))
    chosen = {"trained_on": list(benchmarks.train), "validated_on": list(benchmarks.validation)}
    return Study(
        name,
        config.preset,
        to_json(config) | chosen,
        benchmarks.test,
        trials,
        known_of(benchmarks.test),
        notes=[*notes, *benchmarks.notes],
    )


def _benchmarks_of(settings: Settings, folder: Path) -> Benchmarks:
    """Chooses the benchmarks of an experiment and runs all references on the measured ones.

    Args:
        settings: Settings of the experiment.
        folder: Folder for the records of lost workers.
    """
    of_set = settings.corpus_set
    watched = held_out_benchmarks(
        settings.validation_op_limit, settings.validation_count, of_set, "validation"
    )
    shared = settings.training(0, folder)
    with pool_of(shared) as pool:
        names = held_out_benchmarks(settings.test_op_limit, settings.test_count, of_set)
        test, notes = all_references(TaskRunner(shared, pool, folder), names)
    return Benchmarks(
        group=f"{of_set or 'corpus'} test-unseen",
        train=training_benchmarks((), settings.train_op_limit, of_set),
        validation=recorded(watched),
        test=test,
        notes=notes,
    )


def _train(variant: Variant, seed: int, benchmarks: Benchmarks, runner: TaskRunner) -> Trial:
    """Trains a policy, plays it on the held-out benchmarks and checks the outcomes."""
    folder = variant.folder / f"seed{seed}"
    known = runner.references(benchmarks.train) | {**benchmarks.validation, **benchmarks.test}
    splits = Splits(
        [name for name in benchmarks.train if name in known],
        list(benchmarks.validation),
        list(benchmarks.test),
    )
    # Other agents are measured with their last policy, too: validation chooses nothing here.
    config = replace(variant.settings, seed=seed, keep_best=False)
    kind = policy_kind(variant.kind, config)
    outcomes = Training(kind, folder, splits, Measure.of_counts(known), runner).run()
    checks = runner.check(outcomes)
    curve = learning_curve(folder)
    return Trial(variant.method, seed, benchmarks.group, outcomes, checks, training=curve)


def learning_curve(folder: Path) -> list[tuple[int, dict[str, float]]]:
    """Returns count ratios on validation by pass calls, as trainings in a folder logged them.

    Args:
        folder: Folder of the events.
    """
    # 0 keeps all points; the default draws a sample of them.
    events = EventAccumulator(str(folder), size_guidance={SCALARS: 0}).Reload()
    there = events.Tags()[SCALARS]
    curve: dict[int, dict[str, float]] = {}
    for name in REFERENCES:
        tag = f"op_count_ratio_validation/{name}"
        for point in events.Scalars(tag) if tag in there else ():
            curve.setdefault(point.step, {})[name] = point.value
    return sorted(curve.items())
