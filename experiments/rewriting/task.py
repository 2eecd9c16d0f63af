"""One search over rewrites of one benchmark, as a worker does it."""

import gc
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from experiments.benchmarks import load
from experiments.evaluation import Outcome
from experiments.rewriting.methods import METHODS
from experiments.rewriting.space import Objective, RewriteSpace
from experiments.rollout_worker import RolloutWorker, Task
from experiments.search.budget import Budget, BudgetSpentError


@dataclass(frozen=True)
class Rewritten:
    """What a search came to."""

    outcome: Outcome
    """Its passes are places of rewrites, its calls the rewrites applied."""
    seconds: float
    """Wall time of the search."""
    cost_ratio: float
    """XLA's cost estimate of the result over that of the benchmark."""
    curve: tuple[tuple[int, float, int], ...]
    """Rewrites applied, seconds and op count at each improvement."""


@dataclass(frozen=True)
class RewriteSearch(Task):
    """Searches for the rewrites that leave the fewest instructions, or the least cost."""

    benchmark: str
    method: str
    """A name in ``METHODS``."""
    objective: Objective
    seed: int
    calls: int
    """Rewrites to apply at most."""

    def do(self, worker: RolloutWorker) -> Rewritten:
        """Searches until the budget is spent, or nothing is left to try."""
        worker.recorder.begin(f"rewrites of {self.benchmark}".encode(), worker.config.check_seconds)
        budget = Budget(calls=self.calls)
        space = RewriteSpace(load(self.benchmark), budget, self.objective)
        random = np.random.default_rng(
            np.random.SeedSequence([self.seed, *self.benchmark.encode()])
        )
        budget.start()
        with suppress(BudgetSpentError):
            METHODS[self.method](space, random)
        seconds = budget.seconds
        worker.recorder.end()
        root, best = space.root, space.best
        outcome = Outcome(self.benchmark, root.op_count, best.op_count, best.places(), budget.calls)
        ratio = best.seconds / root.seconds if root.seconds else 1.0
        found = Rewritten(outcome, seconds, ratio, tuple(space.curve))
        # Parents and children hold each other, and through them modules would wait for memory.
        del space, root, best
        gc.collect()
        return found
