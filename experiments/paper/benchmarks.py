"""Benchmarks of an experiment, measured with all references."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hlograph
from experiments.outcomes.benchmarks import (
    ALL_REFERENCES,
    Reference,
    held_out_benchmarks,
    recorded,
    training_benchmarks,
)
from experiments.outcomes.best_known import op_counts
from experiments.outcomes.study import Study, Trial
from experiments.paper.settings import Settings
from experiments.policies.config_json import to_json
from experiments.workers.crew import Crew, pool_of
from experiments.workers.tasks import Measure
from hlograph.errors import WorkerLostError


def all_references(crew: Crew, names: Sequence[str]) -> tuple[dict[str, Reference], list[str]]:
    """Op counts after all reference pipelines, by benchmark.

    Args:
        crew: Runs them.
        names: The benchmarks.

    Returns:
        References of those that every pipeline came to an end on, and a note on each other one.
    """
    tasks = [Measure(benchmark=name, pipelines=ALL_REFERENCES) for name in names]
    results = crew.run(tasks, "reference pipelines", give_up=True)
    found, notes = {}, []
    for name, result in zip(names, results, strict=True):
        if isinstance(result, hlograph.HloError | WorkerLostError):
            notes.append(f"{name} is left out: a reference pipeline failed on it: {result}")
        else:
            found[name] = result
    return found, notes


@dataclass(frozen=True)
class Benchmarks:
    """What policies are trained on, watched on and measured by, in an experiment that trains."""

    group: str
    """What tables call those that are measured."""
    train: Sequence[str]
    validation: Mapping[str, Reference]
    """Those that learning curves are of; no choice is made by them either."""
    test: Mapping[str, Reference]
    """Those that are measured, of families that no policy was trained on."""
    notes: Sequence[str]
    """On each that had to be left out."""


def benchmarks_of(settings: Settings, folder: Path) -> Benchmarks:
    """Benchmarks of an experiment; of those that are measured, all references are run.

    Args:
        settings: Settings of the experiment.
        folder: Where lost workers are written down.
    """
    of_set = settings.corpus_set
    watched = held_out_benchmarks(
        settings.validation_op_limit, settings.validation_count, of_set, "validation"
    )
    shared = settings.training(0, folder)
    with pool_of(shared) as pool:
        names = held_out_benchmarks(settings.test_op_limit, settings.test_count, of_set)
        test, notes = all_references(Crew(shared, pool, folder), names)
    return Benchmarks(
        group=f"{of_set or 'corpus'} test-unseen",
        train=training_benchmarks((), settings.train_op_limit, of_set),
        validation=recorded(watched),
        test=test,
        notes=notes,
    )


def known_of(references: Mapping[str, Reference]) -> dict[str, int]:
    """Least known op count of those benchmarks that have one."""
    known = op_counts()
    return {name: known[name] for name in references if name in known}


def study_of_trainings(
    name: str,
    config: Settings,
    benchmarks: Benchmarks,
    trials: Sequence[Trial],
    notes: Sequence[str],
) -> Study:
    """The study of an experiment that trained policies.

    Args:
        name: The experiment's name.
        config: Its settings.
        benchmarks: What they were trained on and measured by.
        trials: What was made of the latter.
        notes: What a reader has to be told.
    """
    settings: dict[str, Any] = to_json(config) | {
        "trained_on": list(benchmarks.train),
        "validated_on": list(benchmarks.validation),
    }
    return Study(
        name,
        config.preset,
        settings,
        benchmarks.test,
        trials,
        known_of(benchmarks.test),
        notes=[*notes, *benchmarks.notes],
    )
