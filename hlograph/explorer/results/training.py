"""The page of a training: its table of results, and its curves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hlograph.errors import DamagedFileError
from hlograph.execution.bootstrap import Interval
from hlograph.explorer.results.tables import (
    Bars,
    Cell,
    ColumnKind,
    Lines,
    PageColumn,
    PageSection,
    PageTable,
    Results,
    Text,
    made_with,
)
from hlograph.storage.checked_file import read_checked_json
from hlograph.storage.event_files import Curve, scalars

SETTINGS, RESULTS, TABLE = "config.json", "results.json", "table.txt"
"""Files of a training, of which the last two are written when it ends."""
_POINTS = 400  # of a curve
_OPEN = ("validation", "train", "held_out", "update", "rollout", "best")
_KINDS = ("results", "fusion results", "tuning results")


def training_results(folder: Path) -> Results:
    """Returns the page of a training, which may still go on.

    Args:
        folder: Folder of the run.

    Raises:
        DamagedFileError: A file is cut off or altered.
        OSError: A file cannot be read.
    """
    sections = [*_tables(folder), *_curves(folder)]
    findings = [] if (folder / RESULTS).is_file() else ["The training has not ended."]
    return Results(folder.name, sections, findings, (), _made(folder))


def _made(folder: Path) -> dict[str, str]:
    if not (folder / SETTINGS).is_file():
        return {}
    content = read_checked_json(folder / SETTINGS, "run settings", 2)
    starts = content.get("starts") or [{}]
    return made_with(starts[-1]) | ({"starts": str(len(starts))} if len(starts) > 1 else {})


def _tables(folder: Path) -> Iterator[PageSection]:
    content = _content(folder / RESULTS)
    if summary := content.get("summary"):
        bars = {
            f"{policy}, to {name}": Interval(*[means["count_ratio"]] * 3)
            for policy, of_policy in summary.items()
            for name, means in of_policy.items()
        }
        note = "Count ratio on held-out programs: reference / policy, geometric means."
        yield PageSection("Policies", [Bars(1.0, bars), _summary(summary)], note)
    rows = content.get("benchmarks") or content.get("programs") or []
    if rows:
        yield PageSection("Held-out programs", [_flat_table(rows)])
    if (folder / TABLE).is_file():
        text = Text((folder / TABLE).read_text())
        yield PageSection("Final table, as it was printed", [text], folded=True)


def _content(path: Path) -> Mapping[str, Any]:
    """Returns the results, which have a kind for each quantity that policies reduce."""
    if not path.is_file():
        return {}
    try:
        kind = str(json.loads(path.read_bytes())["kind"]).removeprefix("hlograph ")
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFileError(
            f"{path} is no results of hlograph, or cut off: {error!r}"
        ) from error
    return read_checked_json(path, kind if kind in _KINDS else _KINDS[0], 1)


def _summary(summary: Mapping[str, Any]) -> PageTable:
    columns = [
        PageColumn("policy"),
        PageColumn("against"),
        PageColumn("count ratio", "number"),
        PageColumn("reduction ratio", "number", "(start - policy) / (start - reference)."),
        PageColumn("over", "count", "Programs that have a reduction ratio."),
    ]
    rows: list[list[Cell]] = [
        [policy, name, *(means[k] for k in ("count_ratio", "reduction_ratio", "reduction_counted"))]
        for policy, of_policy in summary.items()
        for name, means in of_policy.items()
    ]
    return PageTable(columns, rows)


def _flat_table(rows: Sequence[Mapping[str, Any]]) -> PageTable:
    """Returns a table of JSON objects; the fields of objects in them are columns, too."""
    flat = [dict(_flattened(row)) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    columns = [PageColumn(name, _kind(name, [row.get(name) for row in flat])) for name in names]
    return PageTable(columns, [[row.get(name) for name in names] for row in flat])


def _flattened(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Cell]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{prefix}{name} ")
        elif isinstance(value, list):
            yield f"{prefix}{name}", "; ".join(map(str, value))
        else:
            yield f"{prefix}{name.replace('_', ' ')}", value


def _kind(name: str, cells: Sequence[Cell]) -> ColumnKind:
    if name == "benchmark":
        return "program"
    values = [cell for cell in cells if cell is not None]
    if values and all(isinstance(cell, int) for cell in values):
        return "count"
    return "number" if all(isinstance(cell, int | float) for cell in values) else "text"


def _curves(folder: Path) -> Iterator[PageSection]:
    """Yields the curves of all event files below a folder, by the first part of their tags."""
    curves: dict[str, dict[str, Curve]] = {}  # by tag and folder
    places = [folder, *sorted(path for path in folder.rglob("*") if path.is_dir())]
    for place in places:
        for tag, curve in scalars(place).items():
            if len(curve) > 1:
                name = str(place.relative_to(folder)) if place != folder else folder.name
                curves.setdefault(tag, {})[name] = curve
    groups: dict[str, list[str]] = {}
    for tag in curves:
        groups.setdefault(tag.partition("/")[0], []).append(tag)
    for group, tags in groups.items():
        lines = [
            Lines("steps", tag, {name: _thinned(curve) for name, curve in curves[tag].items()})
            for tag in tags
        ]
        yield PageSection(
            f"Curves: {group}", lines, folded=not any(prefix in group for prefix in _OPEN)
        )


def _thinned(curve: Curve) -> Sequence[tuple[float, float]]:
    """Returns at most some hundred points of a curve, its ends included."""
    if len(curve) <= _POINTS:
        return curve
    kept = np.unique(np.linspace(0, len(curve) - 1, _POINTS).astype(int)).tolist()
    return [curve[number] for number in kept]
