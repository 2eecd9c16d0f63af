"""Searches many benchmarks in worker processes, and keeps what is better than known."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

from experiments.outcomes import best_known
from experiments.outcomes.best_known import COMPARED, BestKnown
from experiments.outcomes.evaluation import Outcome
from experiments.policies.shipped import checkpoint_location
from experiments.search.guide import TrainedPolicy
from experiments.search.methods import GUIDED, METHODS, check_guided
from experiments.search.task import Found, Search
from experiments.search.tidy import Tidy
from experiments.workers.crew import Crew


def searches(
    benchmarks: Sequence[str],
    method: str,
    seed: int,
    calls: int | None,
    seconds: float | None,
    checkpoint: str | None = None,
) -> list[Search]:
    """Searches by one method, one for each benchmark.

    Args:
        benchmarks: Their names.
        method: A name in ``METHODS`` or ``GUIDED``.
        seed: Seed of everything random.
        calls: Pass calls for each; None is no limit.
        seconds: Wall time for each; None is no limit.
        checkpoint: Path, URL or name of a policy, for those in ``GUIDED``.

    Raises:
        HloError: There is no such checkpoint, or it is damaged.
        ValueError: There is no such method, it has no policy or one that it cannot go by, or
            nothing limits it.
        OSError: The checkpoint cannot be read.
    """
    if method not in METHODS and method not in GUIDED:
        raise ValueError(f"expected a method among {', '.join((*METHODS, *GUIDED))}; got {method}")
    if method in GUIDED and checkpoint is None:
        raise ValueError(f"{method} takes a policy: name a checkpoint")
    if calls is None and seconds is None:
        raise ValueError("expected a limit of pass calls, of seconds, or both; got neither")
    policy = None
    if method in GUIDED and checkpoint is not None:
        policy = TrainedPolicy.load(checkpoint_location(checkpoint))
        check_guided(method, policy)
    return [
        Search(
            benchmark=name, method=method, seed=seed, calls=calls, seconds=seconds, policy=policy
        )
        for name in benchmarks
    ]


def search_in_batches(
    crew: Crew, tasks: Sequence[Search], batch: int, record: Path | None = None
) -> Iterator[list[Found]]:
    """What searches come to, a batch at a time.

    Args:
        crew: Does them.
        tasks: The searches.
        batch: Searches in a batch; what a batch found is written down before the next begins.
        record: File of best-known counts, to which what is better is added; None adds nothing.
    """
    for first in range(0, len(tasks), batch):
        part = tasks[first : first + batch]
        found: list[Found] = crew.run(part, "a search")
        if record is not None:
            rows = map(_as_known, part, found)
            record_better(crew, rows, record)
        yield found


def record_better(crew: Crew, candidates: Iterable[BestKnown], path: Path) -> list[BestKnown]:
    """Adds to the best-known counts what is better, tidied, and stood its check on a fresh module.

    What is valid but could not be compared with its original is added too, with this verdict, and
    told of.

    Args:
        crew: Tidies and checks it.
        candidates: What may be better, at most one of each benchmark.
        path: File of best-known counts.

    Returns:
        What was added.
    """
    known = best_known.current(path)
    better = [new for new in candidates if new.improves(known.get(new.benchmark))]
    ways = [Tidy(benchmark=new.benchmark, passes=new.passes) for new in better]
    better = [
        replace(new, passes=way, op_count=op_count)
        for new, (way, op_count) in zip(better, crew.run(ways, "tidying"), strict=True)
    ]
    # Of orders as good as the known one, some are shorter only as they were found.
    better = [new for new in better if new.improves(known.get(new.benchmark))]
    stood = checked(crew, better)
    for new in stood:
        if new.verdict not in COMPARED:
            tqdm.write(f"{new.benchmark}: {new.op_count} is kept, {new.verdict}")
    best_known.write(stood, path)
    return stood


def checked(crew: Crew, rows: Sequence[BestKnown]) -> list[BestKnown]:
    """The rows that stood their check, with its verdict; of others it is told what is wrong.

    Args:
        crew: Checks them.
        rows: What is recorded.
    """
    # Checks do not look at the op count before the passes.
    outcomes = [Outcome(r.benchmark, r.op_count, r.op_count, r.passes, 0) for r in rows]
    stood: list[BestKnown] = []
    for row, check in zip(rows, crew.check(outcomes), strict=True):
        if check.problem is None:
            stood.append(replace(row, verdict=check.verdict))
        else:
            tqdm.write(f"{row.benchmark}: {check.problem}")
    return stood


def _as_known(task: Search, found: Found) -> BestKnown:
    outcome = found.outcome
    return BestKnown(
        outcome.benchmark, found.fingerprint, outcome.op_count, task.method, outcome.passes
    )
