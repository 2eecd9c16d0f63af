"""Searches for the passes that leave the fewest instructions, benchmark by benchmark.

    python -m experiments.search --method local --split test-unseen --calls 2000
    python -m experiments.search --method mcts --checkpoint gnn --calls 500
    python -m experiments.search --benchmarks 'bert/*' --split test-unseen
    python -m experiments.search --method local --split train --op-limit 1200 --record

With --record, improvements on datasets/best_known.csv are added to it, with the verdict of the
comparison of their outputs with the original's. Ctrl-C keeps the results so far.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.evaluate.run_folder import run_program
from hlograph.corpus.shipped import CorpusSet, Split


@dataclass(frozen=True)
class SearchConfig:
    """Settings of a search."""

    method: str = "local"
    """random, greedy, beam-4, beam-16, evolution or local; with a checkpoint also
    policy-greedy, policy, policy-beam or mcts."""
    checkpoint: str | None = None
    """Policy of a guided search: path, URL, or name of a shipped policy."""
    benchmarks: tuple[str, ...] = ()
    """Globs, which select in the split; or names, paths, folders or URLs, which are searched
    whatever the split. None is the whole split."""
    split: Split = "validation"
    """Split of the corpus."""
    corpus_set: CorpusSet | None = None
    """Set of the corpus; None is all but speed."""
    op_limit: int | None = None
    """Benchmarks of the split with more instructions are left out."""
    only_new: bool = False
    """Leaves out benchmarks with a recorded result."""
    calls: int | None = 2_000
    """Pass calls for each benchmark; None is no limit."""
    seconds: float | None = None
    """Wall time for each benchmark; None is no limit."""
    seed: int = 0
    """Seed of everything random."""
    record: bool = False
    """Adds results on benchmarks of the corpus to the best-known counts if they are better. They
    must pass XLA's verifier on a fresh module and not differ from the original on random inputs.
    A result that cannot be compared is added, and printed."""
    samples: int = 1
    """Random inputs on which a result is compared with its original; 0 does not compare."""
    batch: int = 32
    """Benchmarks to search before improvements are recorded."""
    num_workers: int | None = None
    """Worker processes; None is one a core."""
    out: Path | None = None
    """Folder for quarantine and events; by default a new one under runs/."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the searches of a command line, and prints each result.

    Returns:
        Exit status.
    """
    return run_program(_search, SearchConfig, "experiments.search", __doc__, arguments)


def _search(config: SearchConfig) -> int:
    # These import torch and the engine: seconds that --help does not have.
    from experiments.evaluate import best_known
    from experiments.search.program import task_runner
    from experiments.search.run import search_in_batches, searches
    from experiments.search.task import SearchResult
    from experiments.workers.run_events import phase_bar

    names = _benchmarks(config)
    limits = (config.calls, config.seconds)
    tasks = searches(names, config.method, config.seed, *limits, config.checkpoint)
    record = best_known.FILE if config.record else None
    ratios: dict[str, float] = {}

    with (
        task_runner("search", config.out, config.num_workers, config.samples) as runner,
        phase_bar(config.method, len(tasks), "benchmark") as bar,
    ):

        def report(result: SearchResult) -> None:
            bar.write(str(result))
            outcome = result.outcome
            ratios[outcome.benchmark] = outcome.op_count / outcome.start
            best = min(ratios, key=ratios.__getitem__)
            mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
            bar.set_postfix_str(f"left: mean {mean:.3f}, best {ratios[best]:.3f} ({best})")
            bar.update()

        for _ in search_in_batches(runner, tasks, config.batch, record, report):
            pass
    return 0


def _benchmarks(config: SearchConfig) -> list[str]:
    """Returns the names of the benchmarks, small ones first.

    Raises:
        ValueError: There are none.
    """
    from experiments.evaluate import best_known
    from experiments.evaluate.benchmarks import Part, chosen
    from hlograph import corpus

    part = Part(config.split, config.corpus_set, config.op_limit, None)
    names, _ = chosen(config.benchmarks, part)
    recorded = best_known.current(best_known.FILE) if config.only_new else {}
    chosen_names = [name for name in names if name not in recorded]
    if not chosen_names:
        raise ValueError("--only-new: every benchmark has a recorded result")
    sizes = {b.name: b.op_count for b in corpus.load()}
    return sorted(chosen_names, key=lambda name: (sizes.get(name, math.inf), name))


if __name__ == "__main__":
    sys.exit(main())
