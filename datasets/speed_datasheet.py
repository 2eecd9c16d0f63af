"""Keeps the tables of the set `speed` in `README.md` in step with its manifest.

`build_corpus.py --set speed` calls this at its end; `python datasets/speed_datasheet.py` does it
alone.
"""

from __future__ import annotations

from collections import Counter

from builds import SPEED
from datasheet import table, write_between
from licences import LICENCES
from manifest import MANIFEST, Row, path_of, read_manifest
from speed_splits import FAMILIES, kind_of_family

BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"


def update_section() -> None:
    """Writes the tables between the two marks of the datasheet."""
    write_between(BEGIN, END, section())


def section() -> str:
    """Returns the tables, in Markdown."""
    rows = read_manifest(SPEED.folder / MANIFEST.name)
    return "\n\n".join([overview(rows), kind_table(rows), family_table(rows)])


def overview(rows: list[Row]) -> str:
    """Returns the set in two sentences."""
    size = sum((SPEED.folder / path_of(row.name)).stat().st_size for row in rows)
    libraries = sorted({row.library for row in rows}, key=str.lower)
    licences = " or ".join(sorted({LICENCES[library] for library in libraries}))
    return (
        f"{len(rows)} programs with {sum(row.op_count for row in rows):,} instructions in "
        f"{size / 1e6:.1f} MB; {len({row.structure for row in rows})} structures; "
        f"{len({row.family for row in rows})} families. "
        f"Libraries ({licences}): {', '.join(libraries)}."
    )


def kind_table(rows: list[Row]) -> str:
    """Returns programs and families by kind and split, families in brackets."""
    lines = []
    for kind in (*FAMILIES["train"], "all"):
        cells: list[str] = []
        for split in (*FAMILIES, "all"):
            found = Counter(
                row.family
                for row in rows
                if kind in ("all", kind_of_family(row.family)) and split in ("all", row.split)
            )
            cells.append(f"{found.total()} ({len(found)})")
        lines.append((kind, *cells))
    return table(("programs (families)", *FAMILIES, "all"), lines)


def family_table(rows: list[Row]) -> str:
    """Returns the families of each split and kind with their numbers of programs."""
    programs = Counter(row.family for row in rows)
    lines = [
        (split, kind, ", ".join(f"{family} {programs[family]}" for family in sorted(families)))
        for split, kinds in FAMILIES.items()
        for kind, families in kinds.items()
    ]
    return table(("split", "kind", "families and their programs"), lines)


if __name__ == "__main__":
    update_section()
