"""Results on programs of the speed set: one file for each, and a table of all."""

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import NamedTuple

from experiments.outcomes.metrics import geometric_mean
from experiments.outcomes.run_folder import file_stem
from hlograph.errors import DamagedFileError
from hlograph.storage.atomic_write import write_text_atomically
from hlograph.storage.machine import Machine
from hlograph.timing.bootstrap import bootstrap_interval

FASTER, SLOWER = 1.1, 0.98
"""Ratios that count as a win, and that no program may fall below."""


class CurvePoint(NamedTuple):
    """State of a race at a time."""

    seconds: float
    """Seconds since the race began."""
    plans: int
    """Number of measurements so far."""
    best: float
    """Largest ratio of a screening so far; 1 before any is faster than the default."""
    confirmed: float
    """Largest ratio that a final has confirmed so far; 1 before."""


@dataclass(frozen=True)
class SpeedResult:
    """Result on one program."""

    program: str
    family: str
    method: str
    """Method of the plan; empty if jaxlib's default is kept."""
    decisions: tuple[str, ...]
    """Decisions of the plan."""
    numerics: str
    """Class of the plan's results."""
    outputs: str
    """Verdict of the comparison with the default's outputs; empty if the default is kept."""
    default_ms: float
    """Time of the default, in milliseconds; nan if no plan was timed."""
    raced: float
    """Ratio default / plan at the end of the race, in a fresh process; 1 if the default is kept."""
    ratio: float
    """Ratio in a second measurement, later and in another process; 1 if the default is kept."""
    low: float
    """Lower end of its 95 % bootstrap interval."""
    high: float
    """Upper end of the interval."""
    control: float
    """Ratio of the default to the default compiled again, beside it."""
    plans: int
    """Number of plans that were measured."""
    seconds: float
    """Duration of the race, in seconds."""
    error: str = ""
    """The reason why the program was not measured; empty if it was."""
    machine: Machine | None = None
    """Kind of the machine that it was measured on; None in old results."""
    node: str = ""
    """Name of the node of the cluster; empty without a cluster."""
    curve: tuple[CurvePoint, ...] = ()
    """States of the race, each time that it had measured a plan."""

    @property
    def is_final(self) -> bool:
        """True if there is no plan to measure a second time, or it was."""
        return not self.method or bool(self.error) or self.low != self.high

    def save(self, folder: Path) -> None:
        """Writes the result to a file of its own."""
        write_text_atomically(file_of(folder, self.program), json.dumps(asdict(self), indent=2))

    @classmethod
    def load(cls, folder: Path, program: str) -> "SpeedResult | None":
        """Returns the result of a program; None if there is none.

        Raises:
            DamagedFileError: The file is none of this version.
        """
        path = file_of(folder, program)
        if not path.is_file():
            return None
        try:
            content = json.loads(path.read_text())
            curve = tuple(CurvePoint(*point) for point in content.pop("curve", ()))
            found = content.pop("machine", None)
            on = None if found is None else Machine.from_json(found)
            decisions = tuple(content.pop("decisions"))
            return cls(**content, decisions=decisions, machine=on, curve=curve)
        except (ValueError, TypeError, KeyError, DamagedFileError) as error:
            raise DamagedFileError(f"{path} is no result of this version: {error!r}") from error


COLUMNS = tuple(field.name for field in fields(SpeedResult) if field.name != "curve")
"""Columns of the table of results."""


def file_of(folder: Path, program: str) -> Path:
    """Returns the file of a program's result."""
    return folder / "programs" / f"{file_stem(program)}.json"


def to_csv(results: Sequence[SpeedResult]) -> str:
    """Returns all results as comma-separated values."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(cells(result) for result in results)
    return text.getvalue()


def cells(result: SpeedResult) -> list[str]:
    """Returns the values of a result in a row of ``COLUMNS``."""
    row = asdict(result) | {
        "decisions": "; ".join(result.decisions),
        "machine": result.machine or "",
    }
    return [f"{row[n]:.4g}" if isinstance(row[n], float) else str(row[n]) for n in COLUMNS]


def summary(results: Sequence[SpeedResult]) -> list[str]:
    """Returns the findings over all programs, one sentence each."""
    measured = [result for result in results if not result.error]
    if not measured:
        return ["No program was measured."]
    ratios = [result.ratio for result in measured]
    low, high = bootstrap_interval(ratios)
    best = max(measured, key=lambda result: result.ratio)
    worst = min(measured, key=lambda result: result.ratio)
    kept = sum(1 for result in measured if not result.method)
    failed = [result.program for result in results if result.error]
    lines = [
        f"{len(measured)} programs: {geometric_mean(ratios):.3f} times as fast in the geometric "
        f"mean (95 % interval over programs {low:.3f} to {high:.3f}).",
        f"{sum(r > FASTER for r in ratios)} above {FASTER}, {sum(r >= 2 for r in ratios)} at 2 or "
        f"more; the largest is {best.ratio:.2f} ({best.program}).",
        f"{kept} keep jaxlib's default. The smallest ratio is {worst.ratio:.3f} "
        f"({worst.program}); {sum(r < SLOWER for r in ratios)} are below {SLOWER}.",
    ]
    if failed:
        lines.append(f"{len(failed)} were not measured: {', '.join(failed)}.")
    return lines


def table(results: Sequence[SpeedResult]) -> str:
    """Returns the results as a Markdown table, the fastest first."""
    lines = [
        "| program | default ms | times as fast | 95 % interval | outputs | plan |",
        "|---|---|---|---|---|---|",
    ]
    for r in sorted(results, key=lambda result: -result.ratio):
        if r.error:
            lines.append(f"| {r.program} | | | | | not measured: {r.error[:80]} |")
            continue
        time = "" if math.isnan(r.default_ms) else f"{r.default_ms:.3g}"
        interval = f"{r.low:.3f} to {r.high:.3f}" if r.method else ""
        lines.append(
            f"| {r.program} | {time} | {r.ratio:.3f} | {interval} | {r.outputs} | "
            f"{r.method or 'default'} |"
        )
    return "\n".join(lines)
