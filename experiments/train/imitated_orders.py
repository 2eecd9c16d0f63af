"""Orders of passes to imitate: of each benchmark the best of three that differ in one pass.

Orders of one pipeline have the same passes follow each other everywhere, so that they are learned
soon. Orders that a search found for each benchmark alone are shorter, and lead to policies that
leave more (docs/experiments-results.md). Of a few variants of one pipeline, a policy learns on
which graphs each is better.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import hlograph
from experiments.evaluate.benchmarks import load
from experiments.evaluate.evaluation import least_on_the_way
from experiments.workers.task_runner import TaskRunner
from experiments.workers.worker import RolloutWorker, Task
from hlograph import Pipeline

IMITATED = "hlograph-simplify"
"""Pipeline whose orders, and those of its variants, policies imitate."""

_FIRST = "algsimp:conditional"
"""Pass that one variant calls first."""
_LEFT_OUT = "call-inliner:small"
"""Pass that another leaves out: its computations stay called until one call is left of each."""
_GAIN = 0.005
"""Share of instructions that a variant must leave fewer. What hardly matters is done alike
everywhere."""


def imitated_pipelines() -> tuple[Pipeline, ...]:
    """Returns ``IMITATED`` and its variants."""
    whole = hlograph.pipelines[IMITATED]
    first, left_out = hlograph.passes[_FIRST], hlograph.passes[_LEFT_OUT]
    later = tuple(step for step in whole.steps if step is not left_out)
    return (
        whole,
        Pipeline(f"{IMITATED}, inlining later", f"without {_LEFT_OUT}", later),
        Pipeline(f"{IMITATED} after {_FIRST}", f"{_FIRST} first", (first, *whole.steps)),
    )


def pipeline_orders(runner: TaskRunner, benchmarks: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Returns the passes that the best pipeline calls on each benchmark, up to its least op count.

    Args:
        runner: Runs the pipelines.
        benchmarks: Names. Those that no pipeline makes smaller are left out.
    """
    orders = runner.measured(benchmarks, CallPipelines, "orders to imitate")
    return {name: passes for name, passes in orders.items() if passes}


@dataclass(frozen=True)
class CallPipelines(Task):
    """Runs ``IMITATED`` and its variants on a benchmark."""

    benchmark: str

    def do(self, worker: RolloutWorker) -> tuple[str, ...]:
        """Returns the passes that the best of them calls up to its least op count."""
        worker.recorder.begin(self.benchmark.encode(), worker.config.check_seconds)
        module = load(self.benchmark)
        whole, *variants = (least_on_the_way(module.clone(), p) for p in imitated_pipelines())
        best = min(variants, key=lambda state: state.op_count)
        return (best if best.op_count <= (1 - _GAIN) * whole.op_count else whole).called
