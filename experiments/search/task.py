"""One search of one benchmark, as a worker does it."""

import gc
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from experiments.outcomes.benchmarks import load
from experiments.outcomes.evaluation import Outcome
from experiments.search.budget import Budget, BudgetSpentError
from experiments.search.guide import Guide, TrainedPolicy
from experiments.search.methods import GUIDED, METHODS, Method
from experiments.search.space import SearchSpace
from experiments.workers.worker import RolloutWorker, Task


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
    """A name in ``METHODS`` or ``GUIDED``."""
    seed: int
    calls: int | None
    """Pass calls to spend; None is no limit."""
    seconds: float | None
    """Wall time to spend, without reading the module and the policy; None is no limit."""
    policy: TrainedPolicy | None = None
    """For those in ``GUIDED``."""
    max_bytes: int = 1 << 30
    """Memory for modules, by estimate."""

    def do(self, worker: RolloutWorker) -> Found:
        """Searches until the budget is spent.

        Raises:
            ValueError: There is no such method, or it takes a policy and there is none.
        """
        module = load(self.benchmark)
        budget = Budget(self.calls, self.seconds)
        space = SearchSpace(
            module,
            self.benchmark,
            budget,
            max_bytes=self.max_bytes,
            quarantine=self.quarantine,
            recorder=worker.recorder,
        )
        search = self._method(space)
        random = np.random.default_rng(
            np.random.SeedSequence([self.seed, *self.benchmark.encode()])
        )
        budget.start()
        with suppress(BudgetSpentError):
            search(space, random)
        seconds = budget.seconds
        outcome = Outcome(
            self.benchmark,
            space.root.op_count,
            space.best.op_count,
            space.named(space.shortest()),
            budget.calls,
        )
        found = Found(outcome, space.root.fingerprint, seconds, tuple(space.curve))
        # Parents and children hold each other, and through them modules would wait for memory.
        del space, search
        gc.collect()
        return found

    def _method(self, space: SearchSpace) -> Method:
        if self.method in METHODS:
            return METHODS[self.method]()
        if self.method not in GUIDED:
            known = ", ".join((*METHODS, *GUIDED))
            raise ValueError(f"expected a search among {known}; got {self.method!r}")
        if self.policy is None:
            raise ValueError(f"the search {self.method} needs a policy, got none")
        guided, guide = GUIDED[self.method], Guide(space, self.policy)
        return lambda space, random: guided(space, random, guide)
