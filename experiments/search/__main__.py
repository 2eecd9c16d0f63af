"""Searches for the passes that leave the fewest instructions, benchmark by benchmark.

    python -m experiments.search --method local --split test-unseen --calls 2000
    python -m experiments.search --method local --split train --op-limit 1200 --record

With --record, what is better than known is added to datasets/best_known.csv.
"""

import sys
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import tyro

from experiments.config import CorpusSet


@dataclass(frozen=True)
class Config:
    """Settings of a search."""

    method: str = "local"
    """Name of the search; see ``experiments.search.methods``."""
    split: Literal["train", "validation", "test-seen", "test-unseen"] = "validation"
    """Split of the corpus to search."""
    corpus_set: CorpusSet | None = None
    """Set of the corpus; None is all sets."""
    benchmarks: str = "*"
    """Glob over the names."""
    op_limit: int | None = None
    """Benchmarks with more instructions are left out."""
    calls: int | None = 2_000
    """Pass calls for each benchmark; None is no limit."""
    seconds: float | None = None
    """Wall time for each benchmark; None is no limit."""
    seed: int = 0
    """Seed of everything random."""
    record: bool = False
    """Adds what is better than known to the best-known counts, once it is verified and seen to
    compute the same as the original."""
    samples: int = 1
    """Random inputs on which a result is compared with its original."""
    batch: int = 32
    """Benchmarks searched before what was found is written down."""
    num_workers: int | None = None
    """Worker processes; None is one a core."""
    out: Path | None = None
    """Folder for quarantine and events; by default a new one under runs/."""


def main(config: Config) -> None:
    """Searches the benchmarks in batches, and prints what came of each."""
    # These import torch and the engine: seconds that --help does not have.
    from tqdm import tqdm

    from experiments.config import OpCountTrainConfig
    from experiments.crew import Crew, pool_of
    from experiments.rollout_worker import make_rollout_worker
    from experiments.run_folder import run_folder
    from experiments.search.run import search_in_batches
    from experiments.search.task import Search
    from hlograph import corpus

    folder = config.out or Path("runs") / f"search-{datetime.now():%Y%m%d-%H%M%S}"
    chosen = corpus.load(config.corpus_set, config.split, max_op_count=config.op_limit)
    names = [
        b.name
        for b in sorted(chosen, key=lambda b: (b.op_count, b.name))
        if fnmatchcase(b.name, config.benchmarks)
    ]
    settings = OpCountTrainConfig(
        out=folder, num_workers=config.num_workers, samples=config.samples
    )
    with run_folder(folder), pool_of(settings, make_rollout_worker) as pool:
        crew = Crew(settings, pool, folder)
        tasks = [
            Search(
                benchmark=name,
                method=config.method,
                seed=config.seed,
                calls=config.calls,
                seconds=config.seconds,
            )
            for name in names
        ]
        with tqdm(total=len(tasks), unit="benchmark") as bar:
            for found in search_in_batches(crew, tasks, config.batch, config.record):
                for result in found:
                    tqdm.write(str(result))
                bar.update(len(found))


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Config, description=__doc__)))
