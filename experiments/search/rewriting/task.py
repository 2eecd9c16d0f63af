"""What a worker does with one benchmark in the comparison of methods that rewrite."""

import gc
import time
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from experiments.outcomes.benchmarks import load
from experiments.outcomes.evaluation import Outcome, after_pipeline
from experiments.search.budget import Budget, BudgetSpentError
from experiments.search.guide import TrainedPolicy
from experiments.search.rewriting.guide import RewriteGuide
from experiments.search.rewriting.registry import GUIDED, METHODS, Method
from experiments.search.rewriting.space import Objective, RewriteSpace, estimate
from experiments.workers.worker import RolloutWorker, Task


@dataclass(frozen=True)
class Rewritten:
    """What a search came to."""

    outcome: Outcome
    """Its passes are places of rewrites, its calls the rewrites applied."""
    seconds: float
    """Wall time of the search."""
    curve: tuple[tuple[int, float, int], ...] = ()
    """Rewrites applied, seconds and op count at each improvement."""


@dataclass(frozen=True)
class RewriteSearch(Task):
    """Searches for the rewrites that leave the fewest instructions, or the least cost."""

    benchmark: str
    method: str
    """A name in ``METHODS``, or with a policy in ``GUIDED``."""
    objective: Objective
    seed: int
    calls: int
    """Rewrites to apply at most."""
    seconds: float | None = None
    """Wall time to spend at most; None is no limit."""
    policy: TrainedPolicy | None = None

    def do(self, worker: RolloutWorker) -> Rewritten:
        """Searches until the budget is spent, or nothing is left to try."""
        worker.recorder.begin(f"rewrites of {self.benchmark}".encode(), worker.config.check_seconds)
        budget = Budget(self.calls, self.seconds)
        rules = () if self.policy is None else self.policy.build()[0].steps
        space = RewriteSpace(load(self.benchmark), budget, self.objective, rules)
        search = self._method(space)
        random = np.random.default_rng(
            np.random.SeedSequence([self.seed, *self.benchmark.encode()])
        )
        budget.start()
        with suppress(BudgetSpentError):
            search(space, random)
        seconds = budget.seconds
        worker.recorder.end()
        root, best = space.root, space.best
        outcome = Outcome(self.benchmark, root.op_count, best.op_count, best.places(), budget.calls)
        found = Rewritten(outcome, seconds, tuple(space.curve))
        # Parents and children hold each other, and through them modules would wait for memory.
        del space, root, best, search
        gc.collect()
        return found

    def _method(self, space: RewriteSpace) -> Method:
        if self.policy is None:
            return METHODS[self.method]
        guided, guide = GUIDED[self.method], RewriteGuide(space, self.policy)
        return lambda space, random: guided(space, random, guide)


@dataclass(frozen=True)
class RunPipeline(Task):
    """Runs one of XLA's orders of passes, as a method beside others."""

    benchmark: str
    pipeline: str

    def do(self, worker: RolloutWorker) -> Rewritten:
        """Runs it; the seconds hold it alone."""
        note = f"{self.pipeline} of {self.benchmark}".encode()
        worker.recorder.begin(note, worker.config.check_seconds)
        load(self.benchmark)
        begun = time.perf_counter()
        outcome = after_pipeline(self.benchmark, self.pipeline)
        return Rewritten(outcome, time.perf_counter() - begun)


@dataclass(frozen=True)
class Estimate(Task):
    """Asks XLA what a result is estimated to cost."""

    outcome: Outcome

    def do(self, worker: RolloutWorker) -> float:
        """The estimate of the benchmark over that of its result; 1 if nothing costs anything."""
        note = f"estimate of {self.outcome.benchmark}".encode()
        worker.recorder.begin(note, worker.config.check_seconds)
        before, after = estimate(load(self.outcome.benchmark)), estimate(self.outcome.replay())
        return before / after if before and after else 1.0
