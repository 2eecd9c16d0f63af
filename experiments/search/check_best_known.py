"""Runs the recorded best results beside their originals, and notes how they compare.

    python -m experiments.search.check_best_known                 # what nobody has compared so far
    python -m experiments.search.check_best_known --again --split test-unseen
    python -m experiments.search.check_best_known --studies runs/win/study.json  # takes better ones

The passes of each row of datasets/best_known.csv are run on a fresh module, which must then have
the op count of the row, pass XLA's verifier, and not differ from the original on random inputs. Of
studies the best result of each benchmark is taken, tidied and checked in the same way.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from hlograph.corpus.shipped import Split
from hlograph.errors import HloError

if TYPE_CHECKING:
    from experiments.outcomes.best_known import BestKnown

_FAILED = 1
_REFUSED = 2


@dataclass(frozen=True)
class CheckConfig:
    """Settings of a check of what is recorded."""

    split: Split | None = None
    """Split of the corpus; None is all splits."""
    again: bool = False
    """Checks what was compared before, too."""
    samples: int = 1
    """Random inputs on which a result is compared with its original."""
    batch: int = 32
    """Rows checked before what was found is written down."""
    num_workers: int | None = None
    """Worker processes; None is one a core."""
    studies: tuple[Path, ...] = ()
    """Studies of pass orders: instead of rows, their results are checked where they are better than
    what is recorded, tidied, and recorded too."""
    file: Path | None = None
    """File of best-known counts; None is the project's."""
    out: Path | None = None
    """Folder for quarantine and events; by default a new one under runs/."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Checks what a command line asks for.

    Returns:
        Exit status: 1 if a row did not stand its check; of studies, what does not is left out.
    """
    prog = "python -m experiments.search.check_best_known"
    config = tyro.cli(CheckConfig, args=arguments, prog=prog, description=__doc__)
    try:
        return _check(config)
    except (HloError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return _REFUSED


def _check(config: CheckConfig) -> int:
    # These import torch and the engine: seconds that --help does not have.
    from tqdm import tqdm

    from experiments.outcomes import best_known
    from experiments.outcomes.run_folder import run_folder
    from experiments.policies.config import OpCountTrainConfig
    from experiments.search.run import checked, record_better
    from experiments.workers.crew import Crew, pool_of

    folder = config.out or Path("runs") / f"check-best-known-{datetime.now():%Y%m%d-%H%M%S}"
    file = config.file or best_known.FILE
    rows = _found(config) if config.studies else _rows(config, file)
    if not rows:
        print("nothing to check")
        return 0
    settings = OpCountTrainConfig(
        out=folder, num_workers=config.num_workers, samples=config.samples
    )
    verdicts: Counter[str] = Counter()
    with run_folder(folder), pool_of(settings) as pool, tqdm(total=len(rows)) as bar:
        crew = Crew(settings, pool, folder)
        for first in range(0, len(rows), config.batch):
            part = rows[first : first + config.batch]
            if config.studies:
                stood = record_better(crew, part, file)
            else:
                stood = checked(crew, part)
                best_known.write(stood, file)
            verdicts.update(row.verdict for row in stood)
            bar.update(len(part))
    if config.studies:
        print(f"{verdicts.total()} of {len(rows)} results are better than what was recorded")
        return 0
    print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()))
    failed = len(rows) - verdicts.total()
    if failed:
        print(f"{failed} of {len(rows)} rows failed their check; they are unchanged")
    return _FAILED if failed else 0


def _rows(config: CheckConfig, file: Path) -> "list[BestKnown]":
    """What is recorded of the corpus as it is now, and to be checked."""
    from experiments.outcomes import best_known
    from hlograph import corpus

    names = {benchmark.name for benchmark in corpus.load(split=config.split)}
    return [
        row
        for name, row in best_known.current(file).items()
        if name in names and (config.again or not row.compared)
    ]


def _found(config: CheckConfig) -> "list[BestKnown]":
    """The best result of each benchmark in studies, of the corpus as it is now."""
    from experiments.outcomes.best_known import BestKnown
    from experiments.outcomes.study import Study
    from hlograph import corpus, passes

    fingerprints = {b.name: b.fingerprint for b in corpus.load(split=config.split)}
    best: dict[str, BestKnown] = {}
    for path in config.studies:
        for trial in Study.load(path).trials:
            for outcome in trial.counted():
                # Rewrites and fusions are no passes, and some results are modules alone.
                ordered = outcome.passes and all(name in passes for name in outcome.passes)
                if ordered and outcome.benchmark in fingerprints:
                    name, count = outcome.benchmark, outcome.op_count
                    new = BestKnown(name, fingerprints[name], count, trial.method, outcome.passes)
                    if new.improves(best.get(name)):
                        best[name] = new
    return list(best.values())


if __name__ == "__main__":
    sys.exit(main())
