"""Tasks of workers: a search of one benchmark."""

import gc
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from experiments.evaluate.evaluation import Outcome
from experiments.search.budget import Budget, BudgetSpentError
from experiments.search.guide import Guide, TrainedPolicy
from experiments.search.methods import GUIDED, METHODS, Method
from experiments.search.space import PassSpace
from experiments.search.state_space import StateSpace
from experiments.search.worker_space import worker_space
from experiments.workers.worker import RolloutWorker, Task

Space = TypeVar("Space", bound=StateSpace)
"""Type of the space."""


@dataclass(frozen=True)
class SearchResult:
    """Result of a search on one benchmark."""

    outcome: Outcome
    """Outcome with the best state. In a search over rewrites, its passes are places of rewrites,
    and its calls the rewrites applied."""
    seconds: float
    """Wall time of the search."""
    curve: tuple[tuple[int, float, int], ...] = ()
    """Calls, seconds and op count at each improvement."""

    def __str__(self) -> str:
        o = self.outcome
        return (
            f"{o.benchmark} {o.start} {o.op_count} passes={len(o.passes)} calls={o.calls} "
            f"seconds={self.seconds:.1f}"
        )


@dataclass(frozen=True)
class SpaceSearch(Task, ABC, Generic[Space]):
    """Searches one space for the best state of a benchmark."""

    benchmark: str
    method: str
    """Name of the search."""
    seed: int
    calls: int | None
    """Calls to spend; None is no limit."""
    seconds: float | None = None
    """Wall time to spend, without reading the module and the policy; None is no limit."""
    policy: TrainedPolicy | None = None
    """Policy of a guided search."""

    def do(self, worker: RolloutWorker) -> SearchResult:
        """Searches until the budget is spent or nothing is left to try.

        Raises:
            ValueError: There is no such method, or it takes a policy and there is none.
        """
        budget = Budget(self.calls, self.seconds)
        space = self._space(worker, budget)
        search = self._search(space)
        random = np.random.default_rng(
            np.random.SeedSequence([self.seed, *self.benchmark.encode()])
        )
        budget.start()
        with suppress(BudgetSpentError):
            search(space, random)
        seconds = budget.seconds
        before, after, steps = space.root.op_count, space.best.op_count, self._steps(space)
        outcome = Outcome(self.benchmark, before, after, steps, budget.calls)
        result = SearchResult(outcome, seconds, tuple(space.curve))
        # Parents and children hold each other, and through them modules would wait for memory.
        del space, search
        gc.collect()
        return result

    @abstractmethod
    def _space(self, worker: RolloutWorker, budget: Budget) -> Space:
        """Makes the space to search."""

    @abstractmethod
    def _search(self, space: Space) -> Callable[[Space, np.random.Generator], None]:
        """Returns the search of this method."""

    @abstractmethod
    def _steps(self, space: Space) -> tuple[str, ...]:
        """Returns the names of the moves that lead to the best state."""


@dataclass(frozen=True)
class Search(SpaceSearch[PassSpace]):
    """Searches for the passes that leave the fewest instructions.

    The method is a name in ``METHODS``, or with a policy in ``GUIDED``.
    """

    def _space(self, worker: RolloutWorker, budget: Budget) -> PassSpace:
        return worker_space(self, worker, self.benchmark, budget)

    def _search(self, space: PassSpace) -> Method:
        if self.method in METHODS:
            return METHODS[self.method]()
        if self.method not in GUIDED:
            known = ", ".join((*METHODS, *GUIDED))
            raise ValueError(f"expected a search among {known}; got {self.method!r}")
        if self.policy is None:
            raise ValueError(f"the search {self.method} needs a policy, got none")
        guided, guide = GUIDED[self.method], Guide(space, self.policy)
        return lambda space, random: guided(space, random, guide)

    def _steps(self, space: PassSpace) -> tuple[str, ...]:
        return space.named(space.shortest())
