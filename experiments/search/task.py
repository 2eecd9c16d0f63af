"""Tasks of workers: a search of one benchmark, and what its result is compared with."""

import gc
import time
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

import hlograph
from experiments.evaluate.benchmarks import load
from experiments.evaluate.evaluation import Outcome, after_pipeline, packed_text
from experiments.search.budget import Budget
from experiments.search.guide import Guide, TrainedPolicy
from experiments.search.rewriting.egraph.optimizer import EqualitySettings, optimize
from experiments.search.rewriting.guide import RewriteGuide
from experiments.search.rewriting.space import Objective, RewriteSpace, estimate
from experiments.search.space import PassSpace
from experiments.search.state_space import StateSpace, run
from experiments.workers.worker import RolloutWorker, Task
from hlograph.decisions.searches import SEARCHES, maker

SATURATION = {"saturation": None, "simplify+saturation": "xla-simplify"}
"""Pipeline that runs before equality saturation, by method."""

_NO_LIMIT = 1 << 30  # pass calls: episodes and recorded orders have an end


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


def worker_space(
    task: Task, worker: RolloutWorker, benchmark: str, budget: Budget | None = None
) -> PassSpace:
    """Returns a new space of passes without what is in quarantine, which notes each pass.

    Args:
        task: Task of the worker, which holds the quarantine.
        worker: The worker, which holds the flight recorder.
        benchmark: Name of the benchmark.
        budget: Budget of pass calls; None is no limit.
    """
    return PassSpace(
        load(benchmark),
        benchmark,
        budget or Budget(calls=_NO_LIMIT),
        quarantine=task.quarantine,
        recorder=worker.recorder,
    )


@dataclass(frozen=True)
class SearchTask(Task):
    """Searches for the passes or rewrites that leave the fewest instructions, or the least cost."""

    benchmark: str
    method: str
    """Name of the search in ``hlograph.decisions.searches.SEARCHES``."""
    seed: int
    calls: int | None
    """Calls to spend; None is no limit."""
    seconds: float | None = None
    """Wall time to spend, without reading the module and the policy; None is no limit."""
    policy: TrainedPolicy | None = None
    """Policy of a search that takes one."""
    over: Literal["passes", "rewrites"] = "passes"
    objective: Objective = "op-count"
    """Quantity that a search over rewrites minimizes."""

    def do(self, worker: RolloutWorker) -> SearchResult:
        """Searches until the budget is spent or nothing is left to try.

        Raises:
            UnknownNameError: There is no such search.
            ValueError: It takes a policy and there is none, or one that it cannot use.
        """
        make = maker(self.method, self.over)
        registered = SEARCHES[self.over].get(self.method)
        if registered is not None and registered.policy == "must" and self.policy is None:
            raise ValueError(f"the search {self.method} needs a policy, got none")
        budget = Budget(self.calls, self.seconds)
        space, advice = self._space(worker, budget)
        takes = registered is None or registered.policy != "no"
        random = np.random.default_rng(
            np.random.SeedSequence([self.seed, *self.benchmark.encode()])
        )
        budget.start()
        run(space, make(space, random, *(advice if takes else ())))
        seconds = budget.seconds
        before, after = space.root.op_count, space.best.op_count
        steps = space.named(space.shortest())
        outcome = Outcome(self.benchmark, before, after, steps, budget.calls)
        result = SearchResult(outcome, seconds, tuple(space.curve))
        if self.over == "rewrites":
            worker.recorder.end()
        # Parents and children hold each other, and through them modules would wait for memory.
        del space, advice
        gc.collect()
        return result

    def _space(
        self, worker: RolloutWorker, budget: Budget
    ) -> tuple[StateSpace[Any], list[Guide | RewriteGuide]]:
        """Returns the space to search, and the advice of the policy there, if there is one."""
        if self.over == "passes":
            space = worker_space(self, worker, self.benchmark, budget)
            return space, [] if self.policy is None else [Guide(space, self.policy)]
        _note(worker, f"rewrites of {self.benchmark}")
        rules = () if self.policy is None else self.policy.build()[0].action_names
        space = RewriteSpace(load(self.benchmark), budget, self.objective, rules)
        return space, [] if self.policy is None else [RewriteGuide(space, self.policy)]


@dataclass(frozen=True)
class RunPipeline(Task):
    """Runs a reference pipeline, as a method to compare with."""

    benchmark: str
    pipeline: str

    def do(self, worker: RolloutWorker) -> SearchResult:
        """Runs the pipeline; the seconds are those of the pipeline alone."""
        _note(worker, f"{self.pipeline} of {self.benchmark}")
        load(self.benchmark)
        begun = time.perf_counter()
        outcome = after_pipeline(self.benchmark, self.pipeline)
        return SearchResult(outcome, time.perf_counter() - begun)


@dataclass(frozen=True)
class Saturate(Task):
    """Finds the cheapest program that the rules of the e-graph prove equal."""

    benchmark: str
    method: str
    """Name in ``SATURATION``."""
    objective: Objective
    settings: EqualitySettings = field(default_factory=EqualitySettings)

    def do(self, worker: RolloutWorker) -> SearchResult:
        """Saturates and extracts; the calls of the outcome are rounds of rules.

        Raises:
            HloError: egglog is not installed.
        """
        _note(worker, f"{self.method} of {self.benchmark}")
        module = load(self.benchmark)
        start, first = module.op_count, SATURATION[self.method]
        begun = time.perf_counter()
        if first is not None:
            module.run(hlograph.pipelines[first])
        best = optimize(module, self.objective, self.settings)
        seconds = time.perf_counter() - begun
        text = packed_text(best.module)
        outcome = Outcome(self.benchmark, start, best.module.op_count, (), best.rounds, packed=text)
        return SearchResult(outcome, seconds)


@dataclass(frozen=True)
class Estimate(Task):
    """Estimates by XLA's cost analysis how much faster a result is."""

    outcome: Outcome

    def do(self, worker: RolloutWorker) -> float:
        """Returns the benchmark's estimate over its result's; 1 if either costs nothing."""
        _note(worker, f"estimate of {self.outcome.benchmark}")
        before, after = estimate(load(self.outcome.benchmark)), estimate(self.outcome.replay())
        return before / after if before and after else 1.0


def _note(worker: RolloutWorker, words: str) -> None:
    """Has the worker's recorder say what may end the process."""
    worker.recorder.begin(words.encode(), worker.config.check_seconds)
