"""Measures rules for time on the shapes of real programs, in the installed jaxlib.

python -m benchmarks.speed_rules                          # all cases: about ten minutes
python -m benchmarks.speed_rules --rules 'depthwise*'
python -m benchmarks.speed_rules --out runs/speed_rules.csv

The column "code" says what is left of a form in the module that jaxlib generates code from.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from benchmarks.tables import csv_text
from hlograph.errors import HloError
from hlograph.optimization.report import changes_text
from hlograph.storage.atomic_write import write_text_atomically

if TYPE_CHECKING:
    from benchmarks.speed_rules.measuring import Measurement

COLUMNS: tuple[str, ...] = (
    "rules",
    "shape",
    "program",
    "places",
    "default_ms",
    "ratio",
    "low",
    "high",
    "outputs",
    "code",
)


@dataclass(frozen=True)
class SpeedRulesConfig:
    """Settings of the measurement."""

    rules: tuple[str, ...] = ("*",)
    """Globs that select cases by the name of a rule."""
    quick: bool = False
    """Measure each case for a second, on the given inputs alone."""
    out: Path | None = None
    """File of the table, as CSV; it is written after each case."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, prints and saves; returns the exit status."""
    config = tyro.cli(
        SpeedRulesConfig,
        args=arguments,
        prog="python -m benchmarks.speed_rules",
        description=__doc__,
    )
    try:
        rows = _measure(config)
    except HloError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0 if rows else 1


def _measure(config: SpeedRulesConfig) -> list[dict[str, str]]:
    from tqdm import tqdm

    from benchmarks.speed_rules.catalogue import chosen
    from benchmarks.speed_rules.measuring import measured
    from hlograph.measuring.trial import FINAL, SCREEN

    rows: list[dict[str, str]] = []
    with tqdm(chosen(config.rules), unit="case", disable=None) as bar:
        for case in bar:
            bar.set_postfix_str(case.name)
            rows.append(_row(measured(case, SCREEN if config.quick else FINAL)))
            bar.write(_line(rows[-1]), file=sys.stdout)
            if config.out:
                cells = ([row.get(column, "") for column in COLUMNS] for row in rows)
                write_text_atomically(config.out, csv_text([COLUMNS, *cells]))
    return rows


def _row(measurement: Measurement) -> dict[str, str]:
    case, outcome = measurement.case, measurement.outcome
    row = {
        "rules": " + ".join(case.rules),
        "shape": case.shape,
        "program": case.program,
        "places": str(measurement.places),
    }
    if outcome is None:
        return row | {"outputs": "does not apply"}
    if outcome.measured is None:
        return row | {"outputs": outcome.error.splitlines()[0] if outcome.error else "refused"}
    speed = outcome.measured
    verdict = outcome.checks.verdict if outcome.checks else ""
    code = changes_text(outcome.changes) or "the same opcodes"
    return row | {
        "default_ms": f"{1e3 * speed.default_seconds:.4g}",
        "ratio": f"{speed.ratio:.3f}",
        "low": f"{speed.low:.3f}",
        "high": f"{speed.high:.3f}",
        "outputs": verdict,
        "code": code,
    }


def _line(row: dict[str, str]) -> str:
    if "ratio" not in row:
        return f"{row['rules']}: {row['shape']}: {row['outputs']}"
    return (
        f"{row['rules']}: {row['shape']}: {row['ratio']} ({row['low']} to {row['high']}), "
        f"{row['default_ms']} ms, {row['places']} places, {row['outputs']}, {row['code']}"
    )


if __name__ == "__main__":
    sys.exit(main())
