"""Benchmarks of an experiment, measured with all references."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import hlograph
from experiments.benchmarks import (
    ALL_REFERENCES,
    REFERENCES,
    Reference,
    held_out_benchmarks,
    measured,
    training_benchmarks,
)
from experiments.crew import Crew
from experiments.evaluation import Outcome
from experiments.metrics import count_ratio
from experiments.paper.settings import Settings
from experiments.rollout_worker import RolloutWorker, Task
from hlograph.errors import WorkerLostError


@dataclass(frozen=True)
class MeasureAll(Task):
    """Runs all reference pipelines on a benchmark, and notes their passes and seconds."""

    benchmark: str

    def do(self, worker: RolloutWorker) -> Reference | hlograph.HloError:
        """Measures it; returns the error if it cannot be read or XLA refuses it."""
        note = f"reference pipelines of {self.benchmark}".encode()
        worker.recorder.begin(note, worker.config.check_seconds)
        try:
            return measured(self.benchmark, ALL_REFERENCES)
        except hlograph.HloError as error:
            return error


def all_references(crew: Crew, names: Sequence[str]) -> tuple[dict[str, Reference], list[str]]:
    """Op counts after all reference pipelines, by benchmark.

    Args:
        crew: Runs them.
        names: The benchmarks.

    Returns:
        References of those that every pipeline came to an end on, and a note on each other one.
    """
    results = crew.run(
        [MeasureAll(benchmark=n) for n in names], "reference pipelines", give_up=True
    )
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
