"""One search of one benchmark, as a worker does it."""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from experiments.benchmarks import load
from experiments.evaluation import Outcome
from experiments.rollout_worker import RolloutWorker, Task
from experiments.search.budget import Budget, BudgetSpentError
from experiments.search.methods import METHODS
from experiments.search.space import SearchSpace


@dataclass(frozen=True)
class Found:
    """What a search came to."""

    outcome: Outcome
    fingerprint: str
    """Of the benchmark's module."""
    seconds: float
    """Wall time of the search."""
    curve: tuple[tuple[int, float, int], ...]
    """Pass calls, seconds and op count at each improvement."""

    def __str__(self) -> str:
        o = self.outcome
        return (
            f"{o.benchmark} {o.start} {o.op_count} passes={len(o.passes)} calls={o.calls} "
            f"seconds={self.seconds:.1f}"
        )


@dataclass(frozen=True)
class Search(Task):
    """Searches for the passes that leave the fewest instructions."""

    benchmark: str
    method: str
    seed: int
    calls: int | None
    """Pass calls to spend; None is no limit."""
    seconds: float | None
    """Wall time to spend; None is no limit."""

    def do(self, worker: RolloutWorker) -> Found:
        """Searches until the budget is spent."""
        budget = Budget(self.calls, self.seconds)
        space = SearchSpace(
            load(self.benchmark),
            self.benchmark,
            budget,
            quarantine=self.quarantine,
            recorder=worker.recorder,
        )
        name = self.benchmark.encode()
        random = np.random.default_rng(np.random.SeedSequence([self.seed, *name]))
        with suppress(BudgetSpentError):
            METHODS[self.method](space, random)
        best = space.best
        passes = space.names(best)
        outcome = Outcome(self.benchmark, space.root.op_count, best.op_count, passes, budget.calls)
        return Found(outcome, space.root.fingerprint, budget.seconds, tuple(space.curve))
