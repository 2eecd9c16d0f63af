"""Writes the rows of a run as CSV, and as a table in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.beside_torch.measuring import Row
from benchmarks.tables import csv_text as table_text
from benchmarks.tables import markdown_table, number
from hlograph.execution.bootstrap import Interval
from hlograph.storage.atomic_write import write_text_atomically

_COLUMNS = {
    "program": "program",
    "jax ms": "jax_ms",
    "torch eager ms": "eager_ms",
    "torch.compile ms": "compiled_ms",
    "jax / eager": "over_eager",
    "jax / compile": "over_compiled",
    "compiling: jax s": "jax_compile_s",
    "torch s": "torch_compile_s",
}
_OF_PLANS = {"with a plan ms": "planned_ms", "with a plan / eager": "planned_over_eager"}

FAR = 1.1
"""Ratio above which a program is clearly slower than in PyTorch."""


def write(rows: Sequence[Row], out: Path, made_with: Mapping[str, Any]) -> None:
    """Writes rows as CSV to a file, and the table beside it."""
    write_text_atomically(out, csv_text(rows))
    write_text_atomically(out.with_suffix(".md"), markdown(rows, made_with))


def csv_text(rows: Sequence[Row]) -> str:
    """Returns rows as CSV; a spread has columns for its median and its quartiles."""
    spreads = [field.name for field in fields(Row) if "Interval" in str(field.type)]
    columns: list[str] = []
    for field in fields(Row):
        parts = ("", "_low", "_high") if field.name in spreads else ("",)
        columns += [f"{field.name}{part}" for part in parts]
    return table_text([columns, *(_values(row, spreads) for row in rows)])


def _values(row: Row, spreads: Sequence[str]) -> Iterator[object]:
    for field in fields(row):
        value = getattr(row, field.name)
        if field.name in spreads:
            yield from ("", "", "") if value is None else (f"{part:.6g}" for part in value)
        else:
            yield f"{value:.6g}" if isinstance(value, float) else value


def markdown(rows: Sequence[Row], made_with: Mapping[str, Any]) -> str:
    """Returns the table, the geometric means of the ratios, and the conditions."""
    planned = any(row.planned_ms is not None for row in rows)
    columns = _COLUMNS | (_OF_PLANS if planned else {})
    table = markdown_table(columns, ([_cell(row, of) for of in columns.values()] for row in rows))
    return "\n\n".join([table, *_means(rows), conditions(made_with)]) + "\n"


def conditions(made_with: Mapping[str, Any]) -> str:
    """Returns date, commit, versions and machine in one line."""
    versions = made_with["versions"]
    software = ", ".join(f"{name} {versions[name]}" for name in ("jaxlib", "torch"))
    return (
        f"Measured {made_with['time']} at commit `{str(made_with['commit'])[:10]}` with {software} "
        f"on {made_with['cpus']} cores of {made_with['processor']}, load before "
        f"{made_with['load']}. Ratios are medians over rounds with their quartiles; above 1 XLA "
        "is slower."
    )


def _cell(row: Row, name: str) -> str:
    """Returns a median of times, a ratio with its quartiles, or a number."""
    value = getattr(row, name)
    if value is None or isinstance(value, str):
        return value or ""
    if name.endswith("_ms"):
        return number(value.value)
    if isinstance(value, Interval):
        median, low, high = map(number, value)
        return f"{median} ({low} to {high})"
    return number(value)


def _means(rows: Sequence[Row]) -> Iterator[str]:
    """Yields sentences on the geometric means of the ratios."""
    for name, of_library in (
        ("eager PyTorch", [row.over_eager for row in rows]),
        ("`torch.compile`", [row.over_compiled for row in rows]),
    ):
        ratios = [ratio.value for ratio in of_library if ratio is not None]
        if ratios:
            mean = float(np.exp(np.mean(np.log(ratios))))
            slower = sum(ratio > 1 for ratio in ratios)
            yield (
                f"Geometric mean over {name}: {number(mean)} on {len(ratios)} programs; XLA is "
                f"slower on {slower} of them."
            )
    if any(row.planned_ms is not None for row in rows):
        # A program without a plan keeps jaxlib's default.
        best = [(row.planned_over_eager or row.over_eager).value for row in rows]
        mean = float(np.exp(np.mean(np.log(best))))
        yield (
            f"With plans, where there are some, over eager PyTorch: {number(mean)} on {len(best)} "
            f"programs; XLA is slower on {sum(ratio > 1 for ratio in best)} of them, by more than "
            f"{FAR} on {sum(ratio > FAR for ratio in best)}."
        )
