"""The space of a benchmark in a worker."""

from experiments.evaluate.benchmarks import load
from experiments.search.budget import Budget
from experiments.search.space import PassSpace
from experiments.workers.worker import RolloutWorker, Task

_NO_LIMIT = 1 << 30  # pass calls: episodes and recorded orders have an end


def worker_space(
    task: Task, worker: RolloutWorker, benchmark: str, budget: Budget | None = None
) -> PassSpace:
    """Returns a new space that leaves out what is in quarantine, and notes each pass.

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
