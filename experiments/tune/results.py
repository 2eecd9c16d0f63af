"""Results of a run: of each program, competitor and seed."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.speed.results import COLUMNS, SpeedResult, cells
from hlograph.plans import Plan


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
    return run / "races" / competitor.replace("/", "--") / f"seed-{seed}"


def to_csv(results: Sequence[TuneResult]) -> str:
    """Returns all results as comma-separated values."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("competitor", "seed", *COLUMNS))
    writer.writerows((r.competitor, r.seed, *cells(r.speed)) for r in results)
    return text.getvalue()
