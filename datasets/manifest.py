"""The corpus manifest: one row for each benchmark, in a plain CSV file sorted by name."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from hlograph.storage.atomic_write import write_text_atomically

ROOT = Path(__file__).resolve().parent
MANIFEST = ROOT / "manifest.csv"
LEFT_OUT = ROOT / "left_out.csv"


class Row(NamedTuple):
    """One benchmark; `hlograph.corpus.Benchmark` says what the columns mean."""

    name: str
    family: str
    library: str
    version: str
    scope: str
    set: str
    split: str
    op_count: int
    op_count_xla_cpu: int
    op_count_xla_dump: int
    op_count_xla_simplify: int
    fingerprint: str
    structure: str
    recipe: str


NUMBERS = tuple(column for column in Row._fields if column.startswith("op_count"))


class Omission(NamedTuple):
    """A graph that a source offers and the corpus does not have, and why."""

    name: str
    reason: str


def path_of(name: str) -> Path:
    """Returns the file of a benchmark, relative to this folder."""
    return Path("hlo") / f"{name}.hlo.zst"


def read_manifest(path: Path = MANIFEST) -> list[Row]:
    """Returns the rows of a manifest, or none if there is no such file."""
    return [
        Row(**{**record, **{column: int(record[column]) for column in NUMBERS}})
        for record in read_csv(path)
    ]


def read_omissions(path: Path = LEFT_OUT) -> list[Omission]:
    """Returns the graphs that were left out at the last build."""
    return [Omission(**record) for record in read_csv(path)]


def write_manifest(rows: Iterable[Row], path: Path = MANIFEST) -> None:
    """Writes a manifest, sorted by name."""
    write_csv(Row._fields, sorted(rows), path)


def write_omissions(rows: Iterable[Omission], path: Path = LEFT_OUT) -> None:
    """Writes the list of what was left out, sorted by name."""
    write_csv(Omission._fields, sorted(rows), path)


def read_csv(path: Path) -> list[dict[str, str]]:
    """Returns the records of a CSV file, or none if there is no such file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_csv(fields: tuple[str, ...], rows: Iterable[tuple], path: Path) -> None:
    """Writes a CSV file as a whole."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(fields)
    writer.writerows(rows)
    write_text_atomically(path, text.getvalue())
