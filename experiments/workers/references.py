"""Op counts after XLA's reference pipelines, measured by workers."""

from collections.abc import Sequence

from experiments.evaluate.benchmarks import ALL_REFERENCES, Reference
from experiments.workers.task_runner import TaskRunner
from experiments.workers.tasks import MeasureReferences
from hlograph.errors import HloError, WorkerLostError


def all_references(
    runner: TaskRunner, names: Sequence[str]
) -> tuple[dict[str, Reference], list[str]]:
    """Runs all reference pipelines on each benchmark.

    Args:
        runner: Runs the tasks.
        names: Names of the benchmarks.

    Returns:
        The references by benchmark, and a note on each benchmark that is left out because a
        pipeline failed on it.
    """
    tasks = [MeasureReferences(benchmark=name, pipelines=ALL_REFERENCES) for name in names]
    what = "reference pipelines"
    results = runner.run(tasks, what, give_up=True, progress=what)
    found, notes = {}, []
    for name, result in zip(names, results, strict=True):
        if isinstance(result, HloError | WorkerLostError):
            notes.append(f"{name} is left out: a reference pipeline failed on it: {result}")
        else:
            found[name] = result
    return found, notes
