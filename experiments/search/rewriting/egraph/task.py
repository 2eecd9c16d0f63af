"""Task of a worker: equality saturation of one benchmark."""

import time
from dataclasses import dataclass, field

import hlograph
from experiments.evaluate.benchmarks import load
from experiments.evaluate.evaluation import Outcome, packed_text
from experiments.search.rewriting.egraph.optimizer import EqualitySettings, optimize
from experiments.search.rewriting.space import Objective
from experiments.search.task import SearchResult
from experiments.workers.worker import RolloutWorker, Task

SATURATION = {"saturation": None, "simplify+saturation": "xla-simplify"}
"""Pipeline that runs first, by method."""


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
        note = f"{self.method} of {self.benchmark}".encode()
        worker.recorder.begin(note, worker.config.check_seconds)
        module = load(self.benchmark)
        start, first = module.op_count, SATURATION[self.method]
        begun = time.perf_counter()
        if first is not None:
            module.run(hlograph.pipelines[first])
        found = optimize(module, self.objective, self.settings)
        seconds = time.perf_counter() - begun
        text = packed_text(found.module)
        outcome = Outcome(
            self.benchmark, start, found.module.op_count, (), found.rounds, packed=text
        )
        return SearchResult(outcome, seconds)
