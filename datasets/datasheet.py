"""Keeps the tables of `README.md` in step with the manifest.

`build_corpus.py` calls this at its end; `python datasets/datasheet.py` does it alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import median

from manifest import HELD_OUT, ROOT, Row, read_manifest, read_omissions

README = ROOT / "README.md"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
SPLITS = ("train", "test")
BUCKETS = ((100, 400), (401, 800), (801, 1200), (1201, 2000), (2001, 4000), (4001, 8000))


def update_datasheet(path: Path = README) -> None:
    """Writes the tables between the two marks of a file."""
    text = path.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(f"{head}{BEGIN}\n{tables()}\n{END}{tail}", encoding="utf-8")
    partial.replace(path)


def tables() -> str:
    """Returns all tables, in Markdown."""
    rows = read_manifest()
    sections = [
        family_table(rows),
        library_table(rows),
        size_table(rows),
        omission_list(),
    ]
    return "\n\n".join(sections)


def family_table(rows: list[Row]) -> str:
    """Returns modules and sizes by family, training families first."""
    families = sorted({row.family for row in rows}, key=lambda name: (name in HELD_OUT, name))
    lines = []
    for family in families:
        members = [row for row in rows if row.family == family]
        sizes = [row.op_count for row in members]
        libraries = ", ".join(sorted({row.library for row in members}))
        lines.append((family, members[0].split, libraries, len(members), min(sizes), max(sizes)))
    return table(("family", "split", "library", "modules", "smallest", "largest"), lines)


def library_table(rows: list[Row]) -> str:
    """Returns modules by library and version."""
    libraries = sorted({(row.library, row.library_version) for row in rows})
    lines = [
        (library, version, *counts(row for row in rows if row.library == library))
        for library, version in libraries
    ]
    return table(("library", "version", *SPLITS), lines)


def size_table(rows: list[Row]) -> str:
    """Returns modules by size, with the totals and the median."""
    lines: list[tuple] = [
        (f"{low:,} to {high:,}", *counts(row for row in rows if low <= row.op_count <= high))
        for low, high in BUCKETS
    ]
    lines.append(("all", *counts(rows)))
    sizes = {split: [row.op_count for row in rows if row.split == split] for split in SPLITS}
    medians = [round(median(sizes[split])) if sizes[split] else 0 for split in SPLITS]
    lines.append(("median size", *medians))
    return table(("instructions", *SPLITS), lines)


def omission_list() -> str:
    """Returns what was left out at the last build, and why."""
    omissions = [f"- `{name}`: {reason}" for name, reason in sorted(read_omissions())]
    return "Left out at the last build:\n" + ("\n".join(omissions) or "nothing.")


def counts(rows: Iterable[Row]) -> tuple[int, int]:
    """Returns how many rows are for training and for test."""
    train = [row.split == "train" for row in rows]
    return sum(train), len(train) - sum(train)


def table(header: tuple[str, ...], lines: Iterable[tuple]) -> str:
    """Returns a Markdown table."""
    rule = ("---",) * len(header)
    return "\n".join(f"| {' | '.join(map(format_cell, line))} |" for line in (header, rule, *lines))


def format_cell(value: object) -> str:
    """Returns a cell's text, numbers with separators."""
    return f"{value:,}" if isinstance(value, int) else str(value)


if __name__ == "__main__":
    update_datasheet()
