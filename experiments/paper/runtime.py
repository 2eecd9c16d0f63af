"""Run times of modules before and after optimisation (section 5.1.2 of the paper).

XLA:CPU compiles each benchmark as it is and as each method left it. Both run in turn in one process
and are compared pair by pair. XLA:CPU runs all of its own passes on both, so only the difference
that remains after them is measured. A module that is compared with itself shows the noise. Measure
on a machine that does nothing else.

Methods are policies, played greedily, the least op counts that are known, and XLA's own orders.
A result counts after it was verified and compared with its original on random inputs.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from experiments.paper.checkpoints import labelled
from experiments.paper.runtime_settings import BEST_KNOWN, PRESETS, RuntimeConfig
from hlograph.errors import HloError

if TYPE_CHECKING:
    from experiments.evaluate.evaluation import Outcome
    from experiments.evaluate.study import Study
    from experiments.paper.runtime_worker import MakeWorker, TimeBenchmark
    from experiments.policies.checkpoint import Checkpoint

__all__ = ["BEST_KNOWN", "PRESETS", "run"]


def run(config: RuntimeConfig, folder: Path, make_worker: "MakeWorker | None" = None) -> "Study":
    """Measures all methods on all benchmarks.

    Args:
        config: Settings.
        folder: Folder that measurements are kept in, so that a run can be continued.
        make_worker: Makes the function that measures, in its process; by default that of
            ``runtime_worker``.

    Raises:
        HloError: A checkpoint is damaged, or no benchmark is small enough.
        ValueError: A checkpoint has no action that exists now.
        OSError: A file cannot be read or written.
    """
    from experiments.evaluate.benchmarks import held_out_benchmarks
    from experiments.paper.paired_timing import summaries, table
    from experiments.paper.runtime_results import Kept, pairs_of, study
    from experiments.policies.checkpoint import training_cost

    names = held_out_benchmarks(config.op_limit, config.count, config.corpus_set, config.split)
    if not names:
        raise HloError(f"no benchmark of {config.split} has at most {config.op_limit} instructions")
    kept = Kept(folder)
    left = [name for name in names if name not in kept.results]
    policies = {n: checkpoint for n, (_, checkpoint) in labelled(config.checkpoints).items()}
    if left:
        methods = _methods(config, folder, names, policies)
        tasks = [_task(config, name, methods) for name in left]
        for _ in kept.measure(tasks, config.step_seconds, config.memory_gib, make_worker):
            pass
    results = {name: kept.results[name] for name in names}
    print(table(summaries(pairs_of(results))))
    costs = [f"{method}: {training_cost(policy)}" for method, policy in policies.items()]
    return study(config, results, costs)


def _methods(
    config: RuntimeConfig, folder: Path, names: Sequence[str], policies: "Mapping[str, Checkpoint]"
) -> "Mapping[str, Mapping[str, Outcome | None]]":
    """Returns outcomes by method and benchmark; None is for the worker to find."""
    from experiments.evaluate.best_known import current
    from experiments.evaluate.evaluation import Outcome
    from hlograph import corpus

    methods: dict[str, Mapping[str, Outcome | None]] = {
        method: {o.benchmark: o for o in _played(config, folder, policies[method], names)}
        for method in tqdm(policies, desc="policies", unit="policy", disable=None)
    }
    known = {k: v for k, v in current().items() if k in names} if config.best_known else {}
    if known:
        starts = {b.name: b.op_count for b in corpus.load()}
        methods[BEST_KNOWN] = {
            name: Outcome(name, starts[name], best.op_count, best.passes, len(best.passes))
            for name, best in known.items()
        }
    return methods | {reference: dict.fromkeys(names) for reference in config.references}


def _played(
    config: RuntimeConfig, folder: Path, checkpoint: "Checkpoint", names: Sequence[str]
) -> "list[Outcome]":
    """Returns the outcomes of a checkpoint's policy, played greedily."""
    from experiments.workers.player import player

    with player(checkpoint, folder, num_workers=config.num_workers, workers=config.workers) as play:
        return play.runner.play(checkpoint.kind, play.policy, names)


def _task(
    config: RuntimeConfig, benchmark: str, methods: "Mapping[str, Mapping[str, Outcome | None]]"
) -> "TimeBenchmark":
    from experiments.paper.runtime_worker import MethodToTime, TimeBenchmark
    from hlograph.execution.equivalence import Limits

    found = {m: outcomes[benchmark] for m, outcomes in methods.items() if benchmark in outcomes}
    return TimeBenchmark(
        benchmark=benchmark,
        candidates=[MethodToTime(method, outcome) for method, outcome in found.items()],
        seeds=config.seeds,
        compilations=config.compilations,
        pairs=config.repetitions,
        samples=config.samples,
        sample_seconds=config.sample_seconds,
        pair_seconds=config.pair_seconds,
        step_seconds=config.step_seconds,
        limits=Limits(compiled_ops=2 * config.op_limit, flops=config.flop_limit),
    )
