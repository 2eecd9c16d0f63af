"""Searches for the passes that leave the fewest instructions, benchmark by benchmark.

    python -m experiments.search --method local --split test-unseen --calls 2000
    python -m experiments.search --method mcts --checkpoint gnn --calls 500
    python -m experiments.search --method local --split train --op-limit 1200 --record

With --record, what is better than known is added to datasets/best_known.csv, with how its outputs
compare with the original's.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path

import tyro

from experiments.policies.config import CorpusSet
from hlograph.corpus.shipped import Split
from hlograph.errors import HloError

_REFUSED = 2


@dataclass(frozen=True)
class SearchConfig:
    """Settings of a search."""

    method: str = "local"
    """random, greedy, beam-4, beam-16, evolution or local; with a checkpoint also
    policy-greedy, policy, policy-beam or mcts."""
    checkpoint: str | None = None
    """Policy for the searches that take one: path, URL, or name of one that comes with the
    project."""
    split: Split = "validation"
    """Split of the corpus to search."""
    corpus_set: CorpusSet | None = None
    """Set of the corpus; None is all sets."""
    benchmarks: str = "*"
    """Glob over the names."""
    op_limit: int | None = None
    """Benchmarks with more instructions are left out."""
    only_new: bool = False
    """Leaves out benchmarks of which a count is recorded already."""
    calls: int | None = 2_000
    """Pass calls for each benchmark; None is no limit."""
    seconds: float | None = None
    """Wall time for each benchmark; None is no limit."""
    seed: int = 0
    """Seed of everything random."""
    record: bool = False
    """Adds what is better than known to the best-known counts, once a fresh module passes XLA's
    verifier after its passes, and does not differ from the original on random inputs. What cannot
    be compared is added too: the column verdict says which that is, and so does the program."""
    samples: int = 1
    """Random inputs on which a result is compared with its original; 0 does not compare."""
    batch: int = 32
    """Benchmarks searched before what was found is written down."""
    num_workers: int | None = None
    """Worker processes; None is one a core."""
    out: Path | None = None
    """Folder for quarantine and events; by default a new one under runs/."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Searches what a command line asks for, and prints what came of each benchmark.

    Returns:
        Exit status.
    """
    prog = "python -m experiments.search"
    config = tyro.cli(SearchConfig, args=arguments, prog=prog, description=__doc__)
    try:
        _search(config)
    except (HloError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return _REFUSED
    return 0


def _search(config: SearchConfig) -> None:
    # These import torch and the engine: seconds that --help does not have.
    from tqdm import tqdm

    from experiments.outcomes import best_known
    from experiments.outcomes.run_folder import run_folder
    from experiments.policies.config import OpCountTrainConfig
    from experiments.search.run import search_in_batches, searches
    from experiments.workers.crew import Crew, pool_of

    folder = config.out or Path("runs") / f"search-{datetime.now():%Y%m%d-%H%M%S}"
    tasks = searches(
        _benchmarks(config),
        config.method,
        config.seed,
        config.calls,
        config.seconds,
        config.checkpoint,
    )
    settings = OpCountTrainConfig(
        out=folder, num_workers=config.num_workers, samples=config.samples
    )
    with run_folder(folder), pool_of(settings) as pool, tqdm(total=len(tasks)) as bar:
        crew = Crew(settings, pool, folder)
        record = best_known.FILE if config.record else None
        for found in search_in_batches(crew, tasks, config.batch, record):
            for result in found:
                tqdm.write(str(result))
            bar.update(len(found))


def _benchmarks(config: SearchConfig) -> list[str]:
    """Names of the benchmarks, small ones first.

    Raises:
        ValueError: There are none.
    """
    from experiments.outcomes import best_known
    from hlograph import corpus

    chosen = corpus.load(config.corpus_set, config.split, max_op_count=config.op_limit)
    by_size = sorted(chosen, key=lambda b: (b.op_count, b.name))
    known = best_known.current(best_known.FILE) if config.only_new else {}
    like = [b.name for b in by_size if fnmatchcase(b.name, config.benchmarks)]
    names = [name for name in like if name not in known]
    if not names:
        what = "new " if like else ""
        raise ValueError(f"no {what}benchmark of {config.split} is like {config.benchmarks!r}")
    return names


if __name__ == "__main__":
    sys.exit(main())
