"""Searches many benchmarks in worker processes, and records improvements."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from experiments.evaluate import best_known
from experiments.evaluate.best_known import COMPARED, BestKnown
from experiments.evaluate.evaluation import Outcome
from experiments.evaluate.study import Trial
from experiments.policies.shipped import checkpoint_location
from experiments.search.guide import TrainedPolicy, check_guided
from experiments.search.orders import Tidy
from experiments.search.task import SearchResult, SearchTask
from experiments.workers.player import Player
from experiments.workers.task_runner import TaskRunner
from experiments.workers.worker import Task
from hlograph import corpus
from hlograph.corpus.shipped import Split
from hlograph.decisions.searches import SEARCHES, maker


def searches(
    benchmarks: Sequence[str],
    method: str,
    seed: int,
    calls: int | None,
    seconds: float | None,
    checkpoint: str | None = None,
) -> list[SearchTask]:
    """Returns the tasks of one method, one for each benchmark.

    Args:
        benchmarks: Names of the benchmarks.
        method: Name of the search.
        seed: Seed of everything random.
        calls: Pass calls for each; None is no limit.
        seconds: Wall time for each; None is no limit.
        checkpoint: Path, URL or name of a policy, for a search that takes one.

    Raises:
        HloError: There is no such method or checkpoint, or it is damaged.
        ValueError: Its policy is missing or one that it cannot use, or no budget is given.
        OSError: The checkpoint cannot be read.
    """
    maker(method, "passes")  # which refuses an unknown one
    registered = SEARCHES["passes"].get(method)
    takes_policy = registered is not None and registered.policy != "no"
    if takes_policy and checkpoint is None:
        raise ValueError(f"{method} takes a policy: give a checkpoint")
    if calls is None and seconds is None:
        raise ValueError("expected a limit of pass calls, of seconds, or both; got neither")
    policy = None
    if takes_policy and checkpoint is not None:
        policy = TrainedPolicy.load(checkpoint_location(checkpoint))
        check_guided(method, policy)
    return [
        SearchTask(
            benchmark=name, method=method, seed=seed, calls=calls, seconds=seconds, policy=policy
        )
        for name in benchmarks
    ]


def search_in_batches(
    runner: TaskRunner,
    tasks: Sequence[SearchTask],
    batch: int,
    record: Path | None = None,
    report: Callable[[SearchResult], None] | None = None,
) -> Iterator[list[SearchResult]]:
    """Runs searches, and yields their results batch by batch.

    Args:
        runner: Runs the searches.
        tasks: The searches.
        batch: Searches in a batch. Improvements are recorded after each batch, also of one that
            Ctrl-C or an error ends early.
        record: File of best-known counts; None records nothing. Benchmarks that are not of the
            corpus are not recorded.
        report: Called with each result as it arrives.
    """
    fingerprints = corpus_fingerprints()
    for first in range(0, len(tasks), batch):
        better: list[BestKnown] = []

        def arrived(task: Task, result: Any, better: list[BestKnown] = better) -> None:
            if not isinstance(result, SearchResult):
                return
            outcome = result.outcome
            if isinstance(task, SearchTask) and outcome.benchmark in fingerprints:
                better.append(best_of(outcome, task.method, fingerprints))
            if report is not None:
                report(result)

        try:
            results = runner.run(tasks[first : first + batch], "a search", report=arrived)
        finally:
            if record is not None:
                record_better(runner, better, record)
        yield results


def corpus_fingerprints(split: Split | None = None) -> dict[str, str]:
    """Returns the fingerprints of the corpus's benchmarks, or of those of a split, by name."""
    return {benchmark.name: benchmark.fingerprint for benchmark in corpus.load(split=split)}


def best_of(outcome: Outcome, method: str, fingerprints: Mapping[str, str]) -> BestKnown:
    """Returns an outcome of a method as a candidate for the best-known counts."""
    name = outcome.benchmark
    return BestKnown(name, fingerprints[name], outcome.op_count, method, outcome.passes)


def record_better(
    runner: TaskRunner, candidates: Iterable[BestKnown], path: Path
) -> list[BestKnown]:
    """Tidies and checks candidates, and adds those that improve on the best-known counts.

    A valid result whose outputs could not be compared with the original's is added with this
    verdict, and printed.

    Args:
        runner: Tidies and checks.
        candidates: At most one of each benchmark.
        path: File of best-known counts.

    Returns:
        The rows added.
    """
    recorded = best_known.current(path)
    better = [new for new in candidates if new.improves(recorded.get(new.benchmark))]
    tasks = [Tidy(benchmark=new.benchmark, passes=new.passes) for new in better]
    better = [
        replace(new, passes=passes, op_count=op_count)
        for new, (passes, op_count) in zip(better, runner.run(tasks, "tidying"), strict=True)
    ]
    # An order may have been shorter than the recorded one only before the tidying.
    better = [new for new in better if new.improves(recorded.get(new.benchmark))]
    passed = checked(runner, better)
    for new in passed:
        if new.verdict not in COMPARED:
            tqdm.write(f"{new.benchmark}: {new.op_count} is kept, {new.verdict}")
    best_known.write(passed, path)
    return passed


def checked(runner: TaskRunner, rows: Sequence[BestKnown]) -> list[BestKnown]:
    """Returns the rows that pass their check, with its verdict; prints why the others fail.

    Args:
        runner: Checks the rows.
        rows: Recorded results, or candidates.
    """
    # Checks ignore the op count before the passes.
    outcomes = [Outcome(r.benchmark, r.op_count, r.op_count, r.passes, 0) for r in rows]
    passed: list[BestKnown] = []
    for row, check in zip(rows, runner.check(outcomes), strict=True):
        if check.problem is None:
            passed.append(replace(row, verdict=check.verdict))
        else:
            tqdm.write(f"{row.benchmark}: {check.problem}")
    return passed


def beam_trial(
    player: Player, group: str, names: Sequence[str], calls: int, seconds: float | None = None
) -> Trial:
    """Searches benchmarks with a beam that a policy guides, and checks the results.

    Benchmarks that cost their worker are left out.

    Args:
        player: The policy, and workers.
        group: Name of the benchmarks in tables.
        names: The benchmarks.
        calls: Pass calls to spend on each.
        seconds: Wall time for each, after which the best state so far is the result; None is no
            limit.
    """
    guide = TrainedPolicy.of(player.checkpoint)
    tasks = [
        SearchTask(
            benchmark=name,
            method="policy-beam",
            seed=0,  # a beam draws nothing
            calls=calls,
            seconds=seconds,
            policy=guide,
        )
        for name in names
    ]
    method = f"{player.method()}, beam of {calls:,} calls"
    done = player.results(tasks, names, "a beam search", method, keep_losses=True)
    curves = {name: result.curve for name, result in done}
    outcomes, taken = [result.outcome for _, result in done], [result.seconds for _, result in done]
    return player.checked(method, group, outcomes, taken, curves)
