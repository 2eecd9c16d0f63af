"""Equality saturation of one benchmark, as a worker does it."""

import time
from dataclasses import dataclass, field

import hlograph
from experiments.outcomes.benchmarks import load
from experiments.outcomes.evaluation import Outcome, packed_text
from experiments.search.rewriting.egraph.optimizer import EqualitySettings, optimize
from experiments.search.rewriting.space import Objective
from experiments.search.rewriting.task import Rewritten
from experiments.workers.worker import RolloutWorker, Task

SATURATION = {"saturation": None, "simplify+saturation": "xla-simplify"}
"""By method, the order of passes that comes first."""


@dataclass(frozen=True)
class Saturate(Task):
    """Finds the cheapest program that is equal by the rules of the e-graph."""

    benchmark: str
    method: str
    """A name in ``SATURATION``."""
    objective: Objective
    settings: EqualitySettings = field(default_factory=EqualitySettings)

    def do(self, worker: RolloutWorker) -> Rewritten:
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
        return Rewritten(outcome, seconds)
