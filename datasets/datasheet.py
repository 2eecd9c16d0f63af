"""Keeps the tables and plots of `README.md` in step with the manifest.

`build_corpus.py` calls this at its end; `python datasets/datasheet.py` does it alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from statistics import median

from licences import LICENCES
from manifest import ROOT, Row, path_of, read_manifest, read_omissions
from opcode_coverage import OpcodeUse, count_opcodes, read_opcode_uses, write_opcode_uses

from hlograph.storage.atomic_write import write_text_atomically

README = ROOT / "README.md"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
SETS = ("gpt2-train", "diverse")
SPLITS = ("train", "validation", "test-seen", "test-unseen")
SCOPES = ("training-step", "model", "algorithm", "layer")
BUCKETS = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_001)


def update_datasheet() -> None:
    """Counts opcodes, writes the tables between the two marks of the datasheet, and draws."""
    from plots import draw  # Needs matplotlib, which reading the tables does not.

    write_opcode_uses(count_opcodes())
    write_between(BEGIN, END, tables())
    draw(read_manifest(), read_opcode_uses())


def write_between(begin: str, end: str, text: str) -> None:
    """Writes text between two marks of the datasheet."""
    head, _, rest = README.read_text(encoding="utf-8").partition(begin)
    _, _, tail = rest.partition(end)
    write_text_atomically(README, f"{head}{begin}\n{text}\n{end}{tail}")


def tables() -> str:
    """Returns all tables, in Markdown."""
    rows = read_manifest()
    sections = [
        overview(rows),
        split_table(rows),
        scope_table(rows),
        size_table(rows),
        library_table(rows),
        family_table(rows),
        opcode_tables(read_opcode_uses()),
        omission_list(),
    ]
    return "\n\n".join(sections)


def overview(rows: list[Row]) -> str:
    """Returns the corpus in one sentence."""
    whole = sum(row.scope in ("training-step", "model") for row in rows)
    size = sum((ROOT / path_of(row.name)).stat().st_size for row in rows)
    return (
        f"{len(rows):,} modules with {sum(row.op_count for row in rows):,} instructions in "
        f"{size / 1e6:.1f} MB; {len({row.structure for row in rows}):,} structures; "
        f"{len({row.family for row in rows})} families from {len({row.library for row in rows})} "
        f"libraries; {whole:,} whole models or whole training steps."
    )


def split_table(rows: list[Row]) -> str:
    """Returns modules by set and split."""
    lines = [(name, *counts(rows, lambda row, name=name: row.set == name)) for name in SETS]
    return table(("set", *SPLITS, "all"), [*lines, ("both", *counts(rows, lambda row: True))])


def scope_table(rows: list[Row]) -> str:
    """Returns modules by how much of a program they are."""
    lines = [
        (scope, *counts(rows, lambda row, scope=scope: row.scope == scope)) for scope in SCOPES
    ]
    return table(("scope", *SPLITS, "all"), lines)


def size_table(rows: list[Row]) -> str:
    """Returns modules by size, with the medians."""
    lines: list[tuple] = []
    for low, high in pairwise(BUCKETS):
        inside = counts(rows, lambda row, low=low, high=high: low <= row.op_count < high)
        lines.append((f"{low:,} to {high - 1:,}", *inside))
    parts = [[row for row in rows if row.split == split] for split in SPLITS]
    medians = [
        round(median(row.op_count for row in part)) if part else 0 for part in [*parts, rows]
    ]
    return table(("instructions", *SPLITS, "all"), [*lines, ("median size", *medians)])


def library_table(rows: list[Row]) -> str:
    """Returns modules by library, with version and licence."""
    libraries = sorted({(row.library, row.version) for row in rows})
    lines = [
        (
            library,
            version,
            LICENCES[library],
            *counts(rows, lambda row, lib=library: row.library == lib),
        )
        for library, version in libraries
    ]
    return table(("library", "version", "licence", *SPLITS, "all"), lines)


def family_table(rows: list[Row]) -> str:
    """Returns modules and sizes by family, families of `test-unseen` last."""
    unseen = {row.family for row in rows if row.split == "test-unseen"}
    lines = []
    for family in sorted({row.family for row in rows}, key=lambda name: (name in unseen, name)):
        members = [row for row in rows if row.family == family]
        sizes = [row.op_count for row in members]
        libraries = ", ".join(sorted({row.library for row in members}))
        lines.append(
            (family, libraries, *counts(members, lambda row: True), min(sizes), max(sizes))
        )
    return table(("family", "libraries", *SPLITS, "all", "smallest", "largest"), lines)


def opcode_tables(uses: list[OpcodeUse]) -> str:
    """Returns which opcodes occur, how often, and which do not."""
    occurring = sorted((use for use in uses if use.modules), key=lambda use: -use.instructions)
    lines = [(f"`{use.opcode}`", use.instructions, use.modules) for use in occurring]
    missing = ", ".join(f"`{use.opcode}`" for use in uses if not use.modules)
    return (
        f"{len(occurring)} of XLA's {len(uses)} opcodes occur:\n\n"
        + table(("opcode", "instructions", "modules"), lines)
        + f"\n\nThese do not: {missing}."
    )


def omission_list() -> str:
    """Returns what was left out at the last build, and why: repeats counted, the rest listed."""
    omissions = read_omissions()
    repeats = [one for one in omissions if one.reason.startswith("the same graph as")]
    lines = [f"- `{one.name}`: {one.reason}" for one in sorted(set(omissions) - set(repeats))]
    counted = f"Left out at the last build: {len(repeats)} graphs that repeat another one"
    return "\n".join([f"{counted}, and {len(lines)} that XLA or the builder refused.", "", *lines])


def counts(rows: list[Row], wanted: Callable[[Row], bool]) -> tuple[int, ...]:
    """Returns how many of the wanted rows are in each split, and in all."""
    found = Counter(row.split for row in rows if wanted(row))
    return (*(found[split] for split in SPLITS), found.total())


def table(header: tuple[str, ...], lines: Iterable[tuple]) -> str:
    """Returns a Markdown table."""
    rule = ("---",) * len(header)
    return "\n".join(f"| {' | '.join(map(format_cell, line))} |" for line in (header, rule, *lines))


def format_cell(value: object) -> str:
    """Returns a cell's text, numbers with separators."""
    return f"{value:,}" if isinstance(value, int) else str(value)


if __name__ == "__main__":
    update_datasheet()
