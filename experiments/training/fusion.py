"""What `train_fusion` does: trains, and compares with XLA's own choice and HloEnv's heuristics."""

import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from experiments.outcomes.benchmarks import held_out_benchmarks, training_benchmarks
from experiments.outcomes.evaluation import Measure
from experiments.outcomes.metrics import geometric_mean
from experiments.policies.config import FusionTrainConfig
from experiments.policies.learner import learner_of
from experiments.training.log import write_text
from experiments.training.loop import Training
from experiments.workers.crew import Crew, MakeWorker, pool_of
from experiments.workers.fusion_tasks import CompareFusions, FusionRow, TryFusing
from experiments.workers.worker import make_rollout_worker
from hlograph.errors import HloError, WorkerLostError
from hlograph.storage.atomic_write import write_text_atomically
from hlograph.storage.checked_file import write_checked_json

_POLICY = "policy"


def train_and_compare(
    config: FusionTrainConfig, folder: Path, make_worker: MakeWorker | None
) -> None:
    """Trains the policy of a run, then compares, shows and saves.

    Args:
        config: Settings of the run.
        folder: Its folder.
        make_worker: Makes the worker of a new process; by default a ``RolloutWorker``.

    Raises:
        HloError: No benchmark is left to train on, or a task lost its workers again and again.
        OSError: A file cannot be written.
    """
    limit, of_set = config.test_op_limit, config.corpus_set
    names = (
        training_benchmarks(config.benchmarks, config.train_op_limit, of_set),
        held_out_benchmarks(limit, config.validation_count, of_set, "validation"),
        held_out_benchmarks(limit, config.test_count, of_set),
    )
    with pool_of(config, make_worker or make_rollout_worker) as pool:
        crew = Crew(config, pool, folder)
        known = _that_fuse(crew, [name for part in names for name in part])
        left = [[name for name in part if name in known] for part in names]
        if not left[0]:
            raise HloError("no benchmark is left to train on")
        print(f"{len(left[0])} benchmarks to train on, {len(left[2])} held out; run in {folder}")
        measure = Measure("kernels", {name: {"xla": count} for name, count in known.items()})
        learner = learner_of("fusion", config)
        own = folder / "fusion"
        training = Training(learner, config, own, left[0], left[1], left[2], measure, crew)
        tasks = [CompareFusions(outcome=o, name=_POLICY) for o in training.run()]
        found = crew.run(tasks, "comparing", give_up=True)
    rows = [row for row in found if isinstance(row, FusionRow)]
    lost = {
        task.outcome.benchmark: str(error)
        for task, error in zip(tasks, found, strict=True)
        if isinstance(error, WorkerLostError)
    }
    _save(rows, lost, folder)


def _that_fuse(crew: Crew, names: Sequence[str]) -> dict[str, int]:
    """Kernels of XLA's own choice by benchmark; what does not run is told of and left out."""
    tasks = [TryFusing(benchmark=name) for name in names]
    found = crew.run(tasks, "lowering the benchmarks", give_up=True)
    for name, result in zip(names, found, strict=True):
        if not isinstance(result, int):
            print(f"left out: {name}: {result}")
    return {n: result for n, result in zip(names, found, strict=True) if isinstance(result, int)}


def _save(rows: Sequence[FusionRow], lost: dict[str, str], folder: Path) -> None:
    text = table_text(rows)
    text += "".join(f"\nNOT COUNTED: {name}: {why}" for name, why in lost.items())
    content = {
        "benchmarks": [
            {
                "benchmark": row.benchmark,
                **{name: one._asdict() for name, one in row.fused.items()},
            }
            for row in rows
        ],
        "lost": lost,
    }
    write_checked_json(folder / "results.json", "fusion results", 1, content)
    write_text_atomically(folder / "table.txt", text + "\n")
    write_text(folder, "final_table", text)
    print(text)


def table_text(rows: Sequence[FusionRow]) -> str:
    """The table and the geometric means, as text.

    Args:
        rows: One for each benchmark.
    """
    if not rows:
        return "no benchmark was held out"
    methods = list(rows[0].fused)
    table = Table("benchmark", *methods, title="Kernels (times XLA's speed)")
    for row in rows:
        cells = [f"{one.kernels} ({one.speed:.2f})" for one in row.fused.values()]
        table.add_row(row.benchmark, *cells)
    means = Table("XLA's / its own", "kernels", "bytes", "run time", title="Geometric means")
    for name in methods[1:]:
        pairs = [(row.fused["xla"], row.fused[name]) for row in rows]
        figures = (
            geometric_mean([max(xla.kernels, 1) / max(own.kernels, 1) for xla, own in pairs]),
            geometric_mean(
                [max(xla.bytes_accessed, 1) / max(own.bytes_accessed, 1) for xla, own in pairs]
            ),
            geometric_mean([own.speed for _, own in pairs]),
        )
        means.add_row(name, *(f"{figure:.3f}" for figure in figures))
    out = io.StringIO()
    console = Console(file=out, width=200, highlight=False)
    console.print(table)
    console.print(means)
    for name in methods[1:]:
        verdicts = Counter(row.fused[name].verdict for row in rows)
        found = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        console.print(f"what the code of {name} computes, against XLA's: {found}")
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())
