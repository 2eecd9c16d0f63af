"""Run times of the results of rewriting methods, pair by pair with the originals."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from experiments.evaluate.study import Trial
from experiments.paper.paired_timing import summaries, table
from experiments.paper.rewriting_settings import RewritingConfig
from experiments.paper.runtime_results import Kept, measurements, pairs_of
from experiments.paper.runtime_worker import MakeWorker, MethodToTime, TimeBenchmark
from hlograph.execution.equivalence import Limits

_STEP_SECONDS = 300.0
_MEMORY_GIB = 6.0


def timed(
    config: RewritingConfig,
    trials: Sequence[Trial],
    folder: Path,
    make_worker: MakeWorker | None = None,
) -> Iterator[dict[str, Any]]:
    """Takes the times of the first trials of each method, for all results that passed their check.

    Args:
        config: Settings.
        trials: All trials.
        folder: Folder that measurements are kept in, so that a run can be continued.
        make_worker: Makes the function that measures; None is that of ``runtime_worker``.

    Yields:
        After each benchmark, ``runtime_results.measurements`` of all so far, and in ``timed``, by
        trial (``Trial.key``), the method that its pairs are under.
    """
    chosen = _chosen(trials, config.timed_trials)
    labels = {trial.key: _label(config, trial) for trial in chosen}
    kept = Kept(folder)
    left = [name for name in _benchmarks(chosen) if name not in kept.results]
    tasks = [_task(config, name, chosen, labels) for name in left]
    yield measurements(kept.results) | {"timed": labels}
    for _ in kept.measure(tasks, _STEP_SECONDS, _MEMORY_GIB, make_worker):
        yield measurements(kept.results) | {"timed": labels}
    print(table(summaries(pairs_of(kept.results))))


def _chosen(trials: Sequence[Trial], count: int) -> list[Trial]:
    """Returns the first trials of each method in each group."""
    taken: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        taken.setdefault((trial.group, trial.method), []).append(trial)
    return [trial for same in taken.values() for trial in same[:count]]


def _label(config: RewritingConfig, trial: Trial) -> str:
    """Returns the method name of a trial's pairs; XLA's orders are the same for all objectives."""
    if trial.method in config.references:
        return trial.method
    _, objective = trial.group.rsplit(", ", 1)
    return f"{trial.method}, {objective}, seed {trial.seed}"


def _benchmarks(trials: Sequence[Trial]) -> list[str]:
    """Returns their names, the smallest first: a run that is cut short has times of most."""
    starts = {o.benchmark: o.start for trial in trials for o in trial.outcomes}
    return sorted(starts, key=starts.__getitem__)


def _task(
    config: RewritingConfig, benchmark: str, trials: Sequence[Trial], labels: dict[str, str]
) -> TimeBenchmark:
    candidates = {
        labels[trial.key]: outcome
        for trial in trials
        for outcome, check in zip(trial.outcomes, trial.checks, strict=True)
        if outcome.benchmark == benchmark and check.problem is None
    }
    return TimeBenchmark(
        benchmark=benchmark,
        candidates=[MethodToTime(label, outcome) for label, outcome in candidates.items()],
        seeds=(0,),
        compilations=config.compilations,
        pairs=config.repetitions,
        # The trials hold the checks.
        samples=0,
        sample_seconds=config.sample_seconds,
        pair_seconds=config.pair_seconds,
        step_seconds=_STEP_SECONDS,
        limits=Limits(compiled_ops=20_000, flops=1e11),
    )
