"""Holds measured figures and their aims, names their rows, and keeps them in a file.

Nothing here imports torch or the engine: pages are written without either.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from hlograph.errors import DamagedFileError
from hlograph.execution.bootstrap import Interval
from hlograph.storage.atomic_write import write_text_atomically

FORMAT = 2


EXPONENT = "exponent"
"""Column of the exponents fitted over all sizes."""
BYTES = "bytes an instruction"
"""Row of the peak memory per instruction."""


class Learner(NamedTuple):
    """A policy that orders passes, and the preset that it is trained with."""

    policy: Literal["gnn", "op_counts"]
    preset: Literal["quick", "full"] = "quick"


LEARNERS: dict[Learner, str] = {
    Learner("gnn"): "GNN",
    Learner("gnn", "full"): "GNN, preset full",
    Learner("op_counts"): "op counts",
}
"""Name of each learner in tables."""
SECTIONS = ("pass", "featurisation", "inference", "other collecting", "update")
"""Parts of an iteration's time. Featurisation is all of stepping but the pass; other
collecting is what the workers' clocks do not see: sending, joining, waiting for the last."""


@dataclass(frozen=True)
class Aim:
    """Bound that a figure should keep."""

    limit: float
    at_most: bool = True
    """True if the limit is the largest value that reaches the aim, False if it is the smallest."""

    def reached(self, value: float) -> bool:
        """Returns True if a value keeps the bound."""
        return value <= self.limit if self.at_most else value >= self.limit

    def __str__(self) -> str:
        return f"{'≤' if self.at_most else '≥'} {self.limit:,g}"


@dataclass(frozen=True)
class Figure:
    """One measured number, at a row and a column of its group's table."""

    row: str
    """The row, such as "env step / pass alone, op counts"."""
    column: str
    """The column, usually the size of the module asked for, such as "1,000"."""
    value: float
    """Median of the repeats."""
    unit: str
    """Unit, such as "ms", "1/s", or "x" for a ratio."""
    low: float
    """First quartile of the repeats."""
    high: float
    """Third quartile."""
    aim: Aim | None = None

    @classmethod
    def of(
        cls, row: str, column: str, repeats: Interval | float, unit: str, aim: Aim | None = None
    ) -> Figure:
        """Makes a figure from repeats, or from one number."""
        if not isinstance(repeats, Interval):
            repeats = Interval(repeats, repeats, repeats)
        return cls(row, column, repeats.value, unit, repeats.low, repeats.high, aim)

    @property
    def missed(self) -> bool:
        """True if the figure has an aim and does not reach it."""
        return self.aim is not None and not self.aim.reached(self.value)


@dataclass(frozen=True)
class GroupResult:
    """Figures of one group, with the conditions of their measurement."""

    title: str
    figures: tuple[Figure, ...]
    subjects: Mapping[str, str] = field(default_factory=dict)
    """Description of each column, such as the name of the module."""
    seconds: float = 0.0
    """Duration of the measurement in seconds."""
    made_with: Mapping[str, Any] = field(default_factory=dict)
    """Machine, versions, commit, settings, date."""

    def named(self, row: str) -> dict[str, Figure]:
        """Returns one row, by column."""
        return {figure.column: figure for figure in self.figures if figure.row == row}


Results = dict[str, GroupResult]
"""Results by the name of the group."""


def workers_label(label: str, workers: int) -> str:
    """Returns the name of the row of a policy with a number of workers."""
    return f"{label}, {workers} worker{'s' if workers > 1 else ''}"


def section_label(label: str, workers: int, section: str) -> str:
    """Returns the name of the row with the time of a section."""
    return f"{workers_label(label, workers)}: {section}"


def save(results: Results, path: Path) -> None:
    """Writes results as JSON; a reader finds the old file or the new one, never half."""
    groups = {name: asdict(result) for name, result in results.items()}
    text = json.dumps({"format": FORMAT, "groups": groups}, indent=1, ensure_ascii=False)
    write_text_atomically(path, text + "\n")


def load(path: Path) -> Results:
    """Reads what `save` wrote; no results if there is no file.

    Raises:
        DamagedFileError: The file is something else.
    """
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']}, expected {FORMAT}")
        return {name: _group(group) for name, group in content["groups"].items()}
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFileError(
            f"expected {path} to hold results of benchmarks.run, found {error!r}; "
            "give another --out or delete it"
        ) from error


def _group(content: Mapping[str, Any]) -> GroupResult:
    return GroupResult(**{**content, "figures": tuple(_figures(content["figures"]))})


def _figures(rows: Iterable[Mapping[str, Any]]) -> Iterable[Figure]:
    for row in rows:
        aim = None if row["aim"] is None else Aim(**row["aim"])
        yield Figure(**{**row, "aim": aim})
