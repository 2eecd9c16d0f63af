"""Measurements of benchmarks before a training, while it runs, and in its final table."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from experiments.evaluate.evaluation import Measure, Outcome
from experiments.evaluate.results import Result, save, table_text
from experiments.policies.kind import PolicyKind
from experiments.workers.task_runner import Iteration, TaskRunner
from experiments.workers.tasks import TryRun
from hlograph.errors import HloError


@dataclass(frozen=True)
class Splits:
    """Names of the benchmarks of a training."""

    train: Sequence[str]
    """Benchmarks to train on."""
    validation: Sequence[str]
    """Benchmarks that are played while training, and choose the policy to keep. Without any, the
    last policy is kept."""
    test: Sequence[str]
    """Benchmarks that are played in the end."""

    @property
    def all(self) -> list[str]:
        """Names of all benchmarks."""
        return [*self.train, *self.validation, *self.test]


class ValidationScore(NamedTuple):
    """Measurements of results on the validation benchmarks."""

    score: float
    """Figure that chooses the policy to keep; higher is better."""
    scalars: Mapping[str, float]
    """Figures for the log, by tag."""


class FinalTable(ABC):
    """Measures benchmarks before a training, and shows the results after it.

    Args:
        kinds: Kinds of policy that are trained.
        folder: Folder of the run.
    """

    measure: Measure
    """Quantity that logs compare with references; available after ``prepare``."""

    def __init__(self, kinds: Sequence[PolicyKind], folder: Path) -> None:
        self.kinds, self.folder = kinds, folder

    @abstractmethod
    def prepare(self, splits: Splits, runner: TaskRunner) -> Splits:
        """Measures the references of benchmarks.

        Args:
            splits: The benchmarks.
            runner: Runs the tasks.

        Returns:
            The benchmarks without those that cannot be measured.
        """

    def correct(self, iteration: Iteration, runner: TaskRunner) -> Mapping[str, float]:
        """Adds to the rewards of an iteration what the environments could not measure.

        Args:
            iteration: Experience of an iteration; its rewards may be changed.
            runner: Runs the tasks.

        Returns:
            Figures for the log, by tag. Here nothing is added, and there are none.
        """
        del iteration, runner
        return {}

    def judge(self, outcomes: Sequence[Outcome], runner: TaskRunner) -> ValidationScore | None:
        """Measures results on the validation benchmarks, to choose the policy to keep.

        Args:
            outcomes: Results of a policy.
            runner: Runs the tasks.

        Returns:
            None here: the results tell all that is compared.
        """
        del outcomes, runner
        return None

    @abstractmethod
    def finish(self, outcomes: Mapping[str, Sequence[Outcome]], runner: TaskRunner) -> str:
        """Checks results, saves them, and returns the table as text.

        Args:
            outcomes: Results on the test benchmarks, by policy.
            runner: Runs the tasks.

        Raises:
            OSError: A file cannot be written.
        """


class OpCountTable(FinalTable):
    """Op counts beside those of XLA's own orders."""

    def prepare(self, splits: Splits, runner: TaskRunner) -> Splits:
        """See ``FinalTable.prepare``. Leaves out what does not run, if run time is rewarded."""
        references = runner.references(splits.all)
        if any(kind.timed for kind in self.kinds):
            runs = runner.measured(list(references), TryRun, "running the benchmarks")
            references = {name: references[name] for name in runs}
        self._references, self.measure = references, Measure.of_counts(references)
        measured = without(splits, references)
        if not measured.test:
            raise HloError("no benchmark is held out: raise --test-op-limit, or take another set")
        return measured

    def finish(self, outcomes: Mapping[str, Sequence[Outcome]], runner: TaskRunner) -> str:
        """See ``FinalTable.finish``."""
        checks = {
            name: runner.check(results, f"{name}: checking results")
            for name, results in outcomes.items()
        }
        tested = [outcome.benchmark for outcome in next(iter(outcomes.values()))]
        references = {name: self._references[name] for name in tested}
        result = Result.of(references, outcomes, checks)
        save(result, self.folder)
        return table_text(result)


def without(splits: Splits, names: Mapping[str, object]) -> Splits:
    """Returns splits without the benchmarks that are not known.

    Raises:
        HloError: No benchmark is left to train on.
    """
    parts = ([n for n in part if n in names] for part in vars(splits).values())
    kept = Splits(*parts)
    if not kept.train:
        raise HloError("no benchmark is left to train on")
    return kept
