"""Parts of a page of results: tables, bars and curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hlograph.execution.bootstrap import Interval

ColumnKind = Literal["text", "number", "count", "interval", "program", "plan"]
"""Kind of a column. ``count`` has whole numbers, ``interval`` values with their intervals.
``program`` and ``plan`` have names of modules of the corpus and of plan files, which link to their
pages."""


Cell = str | int | float | Interval | None
"""Content of a cell; None is not measured."""


@dataclass(frozen=True)
class PageColumn:
    """A column.

    Attributes:
        name: Heading.
        kind: Kind of its cells.
        hint: What it shows, in a sentence; may be empty.
    """

    name: str
    kind: ColumnKind = "text"
    hint: str = ""


@dataclass(frozen=True)
class PageTable:
    """Rows under headings.

    Attributes:
        columns: The columns.
        rows: The rows, each with a cell for each column.
        sort: Number of the column that it is sorted by at first, largest first; None keeps the
            order.
    """

    columns: Sequence[PageColumn]
    rows: Sequence[Sequence[Cell]]
    sort: int | None = None

    def __post_init__(self) -> None:
        """Raises ValueError if a row has another length than the columns."""
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"expected {len(self.columns)} cells, got {len(row)}: {row}")

    def to_json(self) -> dict[str, Any]:
        """Returns the table as a JSON object."""
        return {
            "kind": "table",
            "columns": [vars(column) for column in self.columns],
            "rows": [[_cell(cell) for cell in row] for row in self.rows],
            "sort": self.sort,
        }


@dataclass(frozen=True)
class Bars:
    """Values with intervals, drawn as bars from a base.

    Attributes:
        base: Value that bars begin at, such as 1 for ratios.
        bars: Intervals by label.
    """

    base: float
    bars: Mapping[str, Interval]

    def to_json(self) -> dict[str, Any]:
        """Returns the bars as a JSON object."""
        rows = [[label, *map(_number, interval)] for label, interval in self.bars.items()]
        return {"kind": "bars", "base": self.base, "rows": rows}


@dataclass(frozen=True)
class Lines:
    """Curves over a common axis.

    Attributes:
        x: Name of the horizontal axis.
        y: Name of the vertical axis.
        lines: Points by name.
        steps: True if a value holds until the next point.
    """

    x: str
    y: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    steps: bool = False

    def to_json(self) -> dict[str, Any]:
        """Returns the curves as a JSON object."""
        lines = {
            name: [[_number(x), _number(y)] for x, y in points]
            for name, points in self.lines.items()
        }
        return {"kind": "lines", "x": self.x, "y": self.y, "steps": self.steps, "lines": lines}


@dataclass(frozen=True)
class Text:
    """Text as it is, in a font of fixed width.

    Attributes:
        text: The text.
    """

    text: str

    def to_json(self) -> dict[str, Any]:
        """Returns the text as a JSON object."""
        return {"kind": "text", "text": self.text}


@dataclass(frozen=True)
class PageSection:
    """A part of a page.

    Attributes:
        title: Heading.
        parts: Tables, bars, curves and texts.
        note: What they show; may be empty.
        folded: True for a part that is shown when it is asked for.
    """

    title: str
    parts: Sequence[PageTable | Bars | Lines | Text]
    note: str = ""
    folded: bool = False

    def to_json(self) -> dict[str, Any]:
        """Returns the section as a JSON object."""
        return {
            "title": self.title,
            "note": self.note,
            "folded": self.folded,
            "parts": [part.to_json() for part in self.parts],
        }


@dataclass(frozen=True)
class Results:
    """A page of results.

    Attributes:
        title: Title.
        sections: Its parts.
        findings: What came of it, one sentence each.
        notes: Notes of the experiment, such as what was left out.
        made: How it was made: command, machine, versions.
        folder: The folder that they are in.
    """

    title: str
    sections: Sequence[PageSection]
    findings: Sequence[str] = ()
    notes: Sequence[str] = ()
    made: Mapping[str, str] = field(default_factory=dict)
    folder: Path = field(default_factory=Path)

    def to_json(self) -> dict[str, Any]:
        """Returns the page as a JSON object."""
        return {
            "title": self.title,
            "findings": list(self.findings),
            "notes": list(self.notes),
            "made": dict(self.made),
            "sections": [section.to_json() for section in self.sections],
        }


def _cell(cell: Cell) -> Any:
    if isinstance(cell, Interval):
        return [_number(bound) for bound in cell] if math.isfinite(cell.value) else None
    return _number(cell) if isinstance(cell, float) else cell


def _number(value: float) -> float | None:
    """Returns a number with six digits; JSON has neither nan nor infinities."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def made_with(made: Mapping[str, Any]) -> dict[str, str]:
    """Returns command, commit, machine, versions and time, as far as they are known.

    Args:
        made: What ``hlograph.storage.provenance`` has written.
    """
    versions = {"python": made.get("python"), **(made.get("versions") or {})}
    machine = (made.get("platform"), made.get("cpus") and f"{made['cpus']} CPUs")
    lines = {
        "command": made.get("command"),
        "commit": made.get("commit"),
        "machine": ", ".join(str(part) for part in machine if part),
        "versions": ", ".join(f"{name} {value}" for name, value in versions.items() if value),
        "time": made.get("time"),
    }
    return {name: str(value) for name, value in lines.items() if value}
