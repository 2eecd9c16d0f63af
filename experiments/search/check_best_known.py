"""Compares the recorded best results with their originals, and records the verdicts.

    python -m experiments.search.check_best_known                 # results not compared so far
    python -m experiments.search.check_best_known --again --split test-unseen
    python -m experiments.search.check_best_known --studies runs/win/study.json  # records its best

The passes of each row of datasets/best_known.csv are run on a fresh module, which must then have
the op count of the row, pass XLA's verifier, and not differ from the original on random inputs. The
best result of each benchmark in studies is tidied and checked in the same way. Ctrl-C keeps the
batches that were checked.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.evaluate.run_folder import run_program
from hlograph.corpus.shipped import Split

if TYPE_CHECKING:
    from experiments.evaluate.best_known import BestKnown

_FAILED = 1


@dataclass(frozen=True)
class CheckConfig:
    """Settings of a check of the best-known counts."""

    split: Split | None = None
    """Split of the corpus; None is all splits."""
    again: bool = False
    """Also checks results that were compared before."""
    samples: int = 1
    """Random inputs on which a result is compared with its original."""
    batch: int = 8
    """Rows to check before the verdicts are recorded."""
    num_workers: int | None = None
    """Worker processes; None is one a core."""
    studies: tuple[Path, ...] = ()
    """Studies of pass orders. Their results that improve on the rows are tidied, checked and
    recorded; no row is checked."""
    file: Path | None = None
    """File of best-known counts; None is the project's."""
    out: Path | None = None
    """Folder for quarantine and events; by default a new one under runs/."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the checks of a command line.

    Returns:
        Exit status: 1 if a row failed its check. A study's result that fails is only left out.
    """
    name = "experiments.search.check_best_known"
    return run_program(_check, CheckConfig, name, __doc__, arguments)


def _check(config: CheckConfig) -> int:
    # These import torch and the engine: seconds that --help does not have.
    from experiments.evaluate import best_known
    from experiments.search.program import task_runner
    from experiments.search.run import checked, record_better
    from experiments.workers.run_events import phase_bar

    file = config.file or best_known.FILE
    rows = _best_of_studies(config) if config.studies else _rows(config, file)
    if not rows:
        print("nothing to check")
        return 0
    verdicts: Counter[str] = Counter()
    workers = (config.out, config.num_workers, config.samples)
    with (
        task_runner("check-best-known", *workers) as runner,
        phase_bar("checking", len(rows), "benchmark") as bar,
    ):
        for first in range(0, len(rows), config.batch):
            part = rows[first : first + config.batch]
            if config.studies:
                passed = record_better(runner, part, file)
            else:
                passed = checked(runner, part)
                best_known.write(passed, file)
            verdicts.update(row.verdict for row in passed)
            bar.set_postfix(verdicts)
            bar.update(len(part))
    if config.studies:
        print(f"{verdicts.total()} of {len(rows)} results improve on the recorded ones")
        return 0
    print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()))
    failed = len(rows) - verdicts.total()
    if failed:
        print(f"{failed} of {len(rows)} rows failed their check; they are unchanged")
    return _FAILED if failed else 0


def _rows(config: CheckConfig, file: Path) -> "list[BestKnown]":
    """Returns the rows to check, of benchmarks that the corpus still has."""
    from experiments.evaluate import best_known
    from experiments.search.run import corpus_fingerprints

    names = corpus_fingerprints(config.split)
    return [
        row
        for name, row in best_known.current(file).items()
        if name in names and (config.again or not row.compared)
    ]


def _best_of_studies(config: CheckConfig) -> "list[BestKnown]":
    """Returns the best result of each benchmark in studies, as far as the corpus has it."""
    from experiments.evaluate.best_known import BestKnown
    from experiments.evaluate.study import Study
    from experiments.search.run import best_of, corpus_fingerprints
    from hlograph import passes

    fingerprints = corpus_fingerprints(config.split)
    best: dict[str, BestKnown] = {}
    for path in config.studies:
        for trial in Study.load(path).trials:
            for outcome in trial.counted():
                name = outcome.benchmark
                # Rewrites and fusions are no passes, and some results are modules alone.
                ordered = outcome.passes and all(each in passes for each in outcome.passes)
                if ordered and name in fingerprints:
                    new = best_of(outcome, trial.method, fingerprints)
                    if new.improves(best.get(name)):
                        best[name] = new
    return list(best.values())


if __name__ == "__main__":
    sys.exit(main())
