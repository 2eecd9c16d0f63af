"""Tasks of workers in the comparison of rewriting methods, one benchmark each."""

import time
from dataclasses import dataclass

from experiments.evaluate.benchmarks import load
from experiments.evaluate.evaluation import Outcome, after_pipeline
from experiments.search.budget import Budget
from experiments.search.rewriting.guide import RewriteGuide
from experiments.search.rewriting.methods import GUIDED, METHODS, Method
from experiments.search.rewriting.space import Objective, RewriteSpace, estimate
from experiments.search.task import SearchResult, SpaceSearch
from experiments.workers.worker import RolloutWorker, Task


@dataclass(frozen=True)
class RewriteSearch(SpaceSearch[RewriteSpace]):
    """Searches for the rewrites that leave the fewest instructions, or the least cost.

    The method is a name in ``METHODS``, or with a policy in ``GUIDED``.
    """

    objective: Objective = "op-count"

    def do(self, worker: RolloutWorker) -> SearchResult:
        """Searches until the budget is spent or nothing is left to try."""
        worker.recorder.begin(f"rewrites of {self.benchmark}".encode(), worker.config.check_seconds)
        result = super().do(worker)
        worker.recorder.end()
        return result

    def _space(self, worker: RolloutWorker, budget: Budget) -> RewriteSpace:
        rules = () if self.policy is None else self.policy.build()[0].action_names
        return RewriteSpace(load(self.benchmark), budget, self.objective, rules)

    def _search(self, space: RewriteSpace) -> Method:
        if self.policy is None:
            return METHODS[self.method]
        guided, guide = GUIDED[self.method], RewriteGuide(space, self.policy)
        return lambda space, random: guided(space, random, guide)

    def _steps(self, space: RewriteSpace) -> tuple[str, ...]:
        return tuple(space.best.path())


@dataclass(frozen=True)
class RunPipeline(Task):
    """Runs a reference pipeline, as a method to compare with."""

    benchmark: str
    pipeline: str

    def do(self, worker: RolloutWorker) -> SearchResult:
        """Runs the pipeline; the seconds are those of the pipeline alone."""
        note = f"{self.pipeline} of {self.benchmark}".encode()
        worker.recorder.begin(note, worker.config.check_seconds)
        load(self.benchmark)
        begun = time.perf_counter()
        outcome = after_pipeline(self.benchmark, self.pipeline)
        return SearchResult(outcome, time.perf_counter() - begun)


@dataclass(frozen=True)
class Estimate(Task):
    """Estimates by XLA's cost analysis how much faster a result is."""

    outcome: Outcome

    def do(self, worker: RolloutWorker) -> float:
        """Returns the benchmark's estimate over its result's; 1 if either costs nothing."""
        note = f"estimate of {self.outcome.benchmark}".encode()
        worker.recorder.begin(note, worker.config.check_seconds)
        before, after = estimate(load(self.outcome.benchmark)), estimate(self.outcome.replay())
        return before / after if before and after else 1.0
