"""The final table of fusion policies: kernels, beside XLA's own choice and HloEnv's heuristics."""

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from experiments.evaluate.evaluation import Measure, Outcome
from experiments.evaluate.metrics import geometric_mean
from experiments.train.final_tables import FinalTable, Splits, without
from experiments.workers.fusion_tasks import CompareFusions, FusionRow, TryFusing
from experiments.workers.task_runner import TaskRunner
from hlograph.errors import WorkerLostError
from hlograph.storage.atomic_write import write_text_atomically
from hlograph.storage.checked_file import write_checked_json

_POLICY = "policy"


class KernelTable(FinalTable):
    """Kernels and run times beside those of XLA's own choice of fusions."""

    def prepare(self, splits: Splits, runner: TaskRunner) -> Splits:
        """See ``FinalTable.prepare``. The reference is the number of kernels that XLA chooses."""
        names = [*splits.train, *splits.validation, *splits.test]
        tasks = [TryFusing(benchmark=name) for name in names]
        what = "lowering the benchmarks"
        found = runner.run(tasks, what, give_up=True, progress=what)
        kernels: dict[str, int] = {}
        for name, result in zip(names, found, strict=True):
            if isinstance(result, int):
                kernels[name] = result
            else:
                tqdm.write(f"left out: {name}: {result}")
        self.measure = Measure("kernels", {n: {"xla": count} for n, count in kernels.items()})
        return without(splits, kernels)

    def finish(
        self, outcomes: Mapping[str, Sequence[Outcome]], runner: TaskRunner, folder: Path
    ) -> str:
        """See ``FinalTable.finish``."""
        (of_policy,) = outcomes.values()
        tasks = [CompareFusions(outcome=outcome, name=_POLICY) for outcome in of_policy]
        what = "comparing fusions"
        found = runner.run(tasks, what, give_up=True, progress=what)
        rows = [row for row in found if isinstance(row, FusionRow)]
        lost = {
            task.outcome.benchmark: str(error)
            for task, error in zip(tasks, found, strict=True)
            if isinstance(error, WorkerLostError)
        }
        text = table_text(rows)
        text += "".join(f"\nNOT COUNTED: {name}: {why}" for name, why in lost.items())
        _save(rows, lost, text, folder)
        return text


def _save(rows: Sequence[FusionRow], lost: Mapping[str, str], text: str, folder: Path) -> None:
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


def table_text(rows: Sequence[FusionRow]) -> str:
    """Returns the table and the geometric means as text.

    Args:
        rows: One row for each benchmark.
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
