"""Benchmarks of an experiment, measured with all references."""

from collections.abc import Mapping, Sequence
from typing import Any

import hlograph
from experiments.benchmarks import (
    ALL_REFERENCES,
    REFERENCES,
    Reference,
    held_out_benchmarks,
    training_benchmarks,
)
from experiments.best_known import op_counts
from experiments.config_json import to_json
from experiments.crew import Crew
from experiments.evaluation import Outcome
from experiments.metrics import count_ratio
from experiments.paper.settings import Settings
from experiments.rollout_worker import Measure
from experiments.study import Study, Trial
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


def ratios(outcomes: Sequence[Outcome], references: Mapping[str, Reference]) -> dict[str, float]:
    """Count ratios against those references that learning curves show.

    Args:
        outcomes: What an agent made of benchmarks.
        references: Of these benchmarks.
    """
    agent = [o.op_count for o in outcomes]
    return {
        name: count_ratio([references[o.benchmark].after[name] for o in outcomes], agent)
        for name in REFERENCES
    }


def benchmarks_of(settings: Settings) -> tuple[list[str], list[str]]:
    """Benchmarks to train on, and those to be measured by, of other families."""
    return (
        training_benchmarks((), settings.train_op_limit, settings.corpus_set),
        held_out_benchmarks(settings.test_op_limit, settings.test_count, settings.corpus_set),
    )


def known_of(references: Mapping[str, Reference]) -> dict[str, int]:
    """Least known op count of those benchmarks that have one."""
    known = op_counts()
    return {name: known[name] for name in references if name in known}


def study_of_trainings(
    name: str,
    config: Settings,
    train: Sequence[str],
    references: Mapping[str, Reference],
    trials: Sequence[Trial],
    notes: Sequence[str],
) -> Study:
    """The study of an experiment that trained policies.

    Args:
        name: The experiment's name.
        config: Its settings.
        train: Benchmarks that were trained on.
        references: Of the benchmarks that were played.
        trials: What was made of these.
        notes: What a reader has to be told.
    """
    settings: dict[str, Any] = to_json(config) | {"trained_on": list(train)}
    known = known_of(references)
    return Study(name, config.preset, settings, references, trials, known, notes=notes)
