"""The final table of fusion policies: kernels, beside XLA's own choice and HloEnv's heuristics."""

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from envs.fusion_policies import FusionPolicy, Greedy, PickFirst, Uniform, play
from envs.pass_decisions import PassDecisionsEnv
from experiments.evaluate.benchmarks import load
from experiments.evaluate.evaluation import Measure, Outcome
from experiments.evaluate.fusion_comparison import Fused, FusionComparison
from experiments.evaluate.metrics import geometric_mean
from experiments.policies.config import FusionTrainConfig
from experiments.policies.fusion import ALL_DECISIONS
from experiments.train.final_tables import FinalTable, Splits, without
from experiments.workers.task_runner import TaskRunner
from experiments.workers.worker import RolloutWorker, Task
from hlograph.errors import HloError
from hlograph.execution.executable import Executable, random_inputs
from hlograph.module import Module
from hlograph.storage.atomic_write import write_text_atomically
from hlograph.storage.checked_file import write_checked_json
from hlograph.transforms.xla_cpu import before_fusion


@dataclass(frozen=True)
class TryFusing(Task):
    """Lowers and runs a benchmark without any fusion."""

    benchmark: str

    def do(self, worker: RolloutWorker) -> int | str:
        """Returns the kernels of XLA's own choice, or the reason why the benchmark does not run."""
        worker.recorder.begin(f"lowering {self.benchmark}".encode(), worker.config.check_seconds)
        try:
            module = load(self.benchmark)
            code = Executable(before_fusion(module), lowered=True)
            code.run(random_inputs(module))
            return max(Executable(module).kernels, 1)
        except HloError as error:
            return str(error)
        finally:
            worker.recorder.end()


class FusionRow(NamedTuple):
    """One benchmark of the final table."""

    benchmark: str
    fused: Mapping[str, Fused]
    """Measurements by method, ``"xla"`` first, then the policy."""


@dataclass(frozen=True)
class CompareFusions(Task):
    """Measures the fusions of a policy and of HloEnv's heuristics on a benchmark."""

    outcome: Outcome
    """Result of the policy."""
    name: str
    """Name in tables."""

    def do(self, worker: RolloutWorker) -> FusionRow | HloError:
        """Plays the heuristics, compiles all results and times them; returns what fails."""
        config, benchmark = worker.config, self.outcome.benchmark
        assert isinstance(config, FusionTrainConfig)
        worker.recorder.begin(f"comparing {benchmark}".encode(), config.check_seconds)
        how = (config.seed, config.samples, config.pairs, config.sample_seconds)
        try:
            beside = FusionComparison(benchmark, *how)
            module = fused(benchmark, self.outcome.passes)
            module.verify()
            measured = {"xla": beside.xla, self.name: beside.of(module)}
            measured |= {
                name: beside.of(_played(config, benchmark, policy))
                for name, policy in heuristics(config.seed).items()
            }
            return FusionRow(benchmark, measured)
        except HloError as error:
            return HloError(str(error))
        finally:
            worker.recorder.end()


def heuristics(seed: int) -> dict[str, FusionPolicy]:
    """Returns HloEnv's heuristics, by their name in tables."""
    return {"pick first": PickFirst(), "uniform": Uniform(seed), "greedy": Greedy()}


def fused(benchmark: str, places: Sequence[str]) -> Module:
    """Returns a benchmark, lowered, with fusions.

    Args:
        benchmark: Name of it.
        places: Places of the pairs that are fused, in order.
    """
    module = before_fusion(load(benchmark))
    for place in places:
        module.apply(place)
    return module


def _played(config: FusionTrainConfig, benchmark: str, policy: FusionPolicy) -> Module:
    env = PassDecisionsEnv(
        benchmark, passes=config.passes, observation="op_counts", horizon=ALL_DECISIONS
    )
    env.reset()
    play(env, policy)
    return env.module


_POLICY = "policy"


class KernelTable(FinalTable):
    """Kernels and run times beside those of XLA's own choice of fusions."""

    def prepare(self, splits: Splits, runner: TaskRunner) -> Splits:
        """See ``FinalTable.prepare``. The reference is the number of kernels that XLA chooses."""
        kernels = runner.measured(splits.all, TryFusing, "lowering the benchmarks")
        self.measure = Measure("kernels", {n: {"xla": count} for n, count in kernels.items()})
        return without(splits, kernels)

    def finish(self, outcomes: Mapping[str, Sequence[Outcome]], runner: TaskRunner) -> str:
        """See ``FinalTable.finish``."""
        (of_policy,) = outcomes.values()
        tasks = [CompareFusions(outcome=outcome, name=_POLICY) for outcome in of_policy]
        description = "comparing fusions"
        results = runner.run(tasks, description, give_up=True, progress=description)
        rows = [row for row in results if isinstance(row, FusionRow)]
        lost = {
            task.outcome.benchmark: str(error)
            for task, error in zip(tasks, results, strict=True)
            if isinstance(error, HloError)
        }
        text = table_text(rows)
        text += "".join(f"\nNOT COUNTED: {name}: {why}" for name, why in lost.items())
        _save(rows, lost, text, self.folder)
        return text


def _save(rows: Sequence[FusionRow], lost: Mapping[str, str], text: str, folder: Path) -> None:
    content = {
        "benchmarks": [
            {
                "benchmark": row.benchmark,
                **{name: figures._asdict() for name, figures in row.fused.items()},
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
        cells = [f"{fused.kernels} ({fused.speed:.2f})" for fused in row.fused.values()]
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
        counted = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        console.print(f"what the code of {name} computes, against XLA's: {counted}")
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())
