"""Results of a run: of each program, competitor and seed."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.outcomes.run_folder import file_stem
from experiments.speed.results import COLUMNS, SpeedResult, cells
from hlograph.plans import Plan
from hlograph.storage.machine import Machine


@dataclass(frozen=True)
class TuneResult:
    """Result of a competitor on a program, with a seed."""

    competitor: str
    """Names of its methods, with commas between them."""
    seed: int
    speed: SpeedResult
    plan: Plan | None
    """The winning plan; None if jaxlib's default is kept."""


def folder_of(run: Path, competitor: str, seed: int) -> Path:
    """Returns the folder of a competitor's results with a seed, in the folder of a run."""
    return run / "races" / file_stem(competitor) / f"seed-{seed}"


def by_machine(results: Sequence[TuneResult]) -> dict[Machine | None, list[TuneResult]]:
    """Returns the results of each kind of machine; those of None are of one kind, or unknown.

    Results without a machine, of programs that were not measured, are with each kind.
    """
    kinds = list(dict.fromkeys(one.speed.machine for one in results if one.speed.machine))
    if len(kinds) <= 1:
        return {None: list(results)}
    return {kind: [one for one in results if one.speed.machine in (kind, None)] for kind in kinds}


def to_csv(results: Sequence[TuneResult]) -> str:
    """Returns all results as comma-separated values."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("competitor", "seed", *COLUMNS))
    writer.writerows((r.competitor, r.seed, *cells(r.speed)) for r in results)
    return text.getvalue()
