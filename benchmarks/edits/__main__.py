"""Measures how much of a tuned program's gain survives an edit, by its recipe alone.

    python -m benchmarks.edits --budget 20 --out runs/edits.csv

Each program is searched, and its recipe carried over to the edited program, which is measured
without a search. Then the edited program is searched itself, as long, to compare.
"""

from __future__ import annotations

import csv
import io
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from benchmarks.machine import machine
from benchmarks.progress import tracked

COLUMNS = ("program", "edit", "before", "carried over", "low", "high", "own search")


@dataclass(frozen=True)
class EditsConfig:
    """Settings of the measurement."""

    budget: float = 20.0
    """Seconds of each search."""
    programs: tuple[str, ...] = ()
    """Names of the programs whose edits are measured; none takes all."""
    out: Path = Path("runs/edits.csv")
    """File of the table."""


Row = tuple[str, str, float, float, float, float, float]


def measured(config: EditsConfig) -> list[Row]:
    """Returns a row for each edit: ratios of jaxlib's default time over the time with a plan."""
    import jax

    from benchmarks.edits.catalogue import EDITS, Version
    from hlograph.measuring.service import Measurer
    from hlograph.measuring.trial import FINAL, Job, Trial
    from hlograph.optimization import Report, Store, optimize_program
    from hlograph.optimization.versions import recipe_of
    from hlograph.programs import Program
    from hlograph.tuning.space import ProgramSpace

    def job_of(version: Version) -> Job:
        function, arguments = version
        given = [jax.device_get(leaf) for leaf in jax.tree.leaves(arguments)]
        return Job(Program.of(jax.jit(function).lower(*arguments)), given)

    def searched(job: Job) -> Report:
        with tempfile.TemporaryDirectory() as folder:
            store = Store(folder)
            return optimize_program(
                job, budget=config.budget, store=store, measure_again=True, progress=False
            )

    rows: list[Row] = []
    chosen = [edit for edit in EDITS if not config.programs or edit.name in config.programs]
    for edit in tracked(chosen, unit="edit"):
        before, after = job_of(edit.before), job_of(edit.after)
        found = searched(before)
        space = ProgramSpace(after.program)
        plan = space.plan_by(recipe_of(before, found.plan))
        space.close()
        with Measurer(after, workers=1) as measurer:
            (outcome,) = measurer.measure([Trial(plan, FINAL)])
        speed = outcome.measured
        carried = (speed.ratio, speed.low, speed.high) if speed else (0.0, 0.0, 0.0)
        rows.append((edit.name, edit.change, found.ratio, *carried, searched(after).ratio))
    return rows


def to_csv(rows: Sequence[Row]) -> str:
    """Returns the table as comma-separated values."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name, change, *ratios in rows:
        writer.writerow([name, change, *(f"{ratio:.3f}" for ratio in ratios)])
    return text.getvalue()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, prints the table and writes it; returns the exit status."""
    from hlograph.storage.atomic_write import write_text_atomically

    prog = "python -m benchmarks.edits"
    config = tyro.cli(EditsConfig, args=arguments, prog=prog, description=__doc__)
    text = to_csv(measured(config))
    config.out.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomically(config.out, text)
    print(text)
    made = machine()
    print(f"on {made['processor']}, load {made['load']}; written: {config.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
