"""Writes results as tables, on a terminal and between the marks of a Markdown page."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from rich.table import Table

from benchmarks.results import Figure, GroupResult, Results
from hlograph.errors import HloError
from hlograph.storage.atomic_write import write_text_atomically

_AIM = "aim"
MISSED = "missed"
"""Name of the mark for the table of aims that were not reached."""


def number(value: float) -> str:
    """Formats a number with about three significant digits, without powers of ten."""
    if abs(value) >= 100 or value == 0:
        return f"{value:,.0f}"
    digits = 2 if abs(value) < 10 else 1
    if abs(value) < 0.095:
        digits = 4
    return f"{value:,.{digits}f}"


def rows_of(result: GroupResult) -> tuple[list[str], list[list[str]]]:
    """Returns headings and rows of a group's table; figures that miss their aim are bold."""
    columns = list(dict.fromkeys(figure.column for figure in result.figures))
    rows: dict[str, dict[str, Figure]] = {}
    for figure in result.figures:
        rows.setdefault(figure.row, {})[figure.column] = figure
    aimed = any(figure.aim for figure in result.figures)
    text = []
    for name, figures in rows.items():
        units = dict.fromkeys(figure.unit for figure in figures.values() if figure.unit)
        row = [name, ", ".join(units)]
        row += [_cell(figures.get(column)) for column in columns]
        text.append(row + [_aims(figures)] * aimed)
    return ["", "unit", *columns, *[_AIM] * aimed], text


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Returns rows as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def terminal_table(result: GroupResult) -> Table:
    """Returns a group's table for a terminal."""
    headings, rows = rows_of(result)
    table = Table(title=result.title)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place == 0 else "right")
    for row in rows:
        table.add_row(*(re.sub(r"\*\*(.+)\*\*", r"[bold red]\1[/]", cell) for cell in row))
    return table


def markdown_table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Returns a table in Markdown, with numbers aligned right."""
    headings = list(headings)
    lines = [f"| {' | '.join(headings)} |", f"|---|{'---:|' * (len(headings) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def markdown(result: GroupResult) -> str:
    """Returns a group in Markdown: its table and the description of its columns."""
    notes = [
        f"- {text}" if column == "all" else f"- {column}: {text}"
        for column, text in result.subjects.items()
    ]
    return "\n\n".join([markdown_table(*rows_of(result)), "\n".join(notes), _made_with(result)])


def missed(results: Results, before: str = "") -> str:
    """Returns a table in Markdown of all aims that were not reached.

    Args:
        results: Results of some groups.
        before: The table before, whose rows of other groups stay.
    """
    headings = ["group", "what", "at", "figure", _AIM]
    titles = {headings[0], *(result.title for result in results.values())}
    cells = (line.strip("| ").split(" | ") for line in before.splitlines() if line[:2] == "| ")
    rows = [row for row in cells if row[0] not in titles]
    rows += [
        [result.title, figure.row, figure.column, number(figure.value), str(figure.aim)]
        for result in results.values()
        for figure in result.figures
        if figure.missed
    ]
    return markdown_table(headings, rows) if rows else "All aims are reached."


def write_page(results: Results, page: Path) -> None:
    """Replaces the tables of a page by those of groups, and their rows of aims that were missed.

    Raises:
        HloError: The page is not there, or has no marks for a table.
    """
    tables = {name: markdown(result) for name, result in results.items()}
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    before = text.partition(f"<!-- begin: {MISSED} -->")[2].partition("<!-- end -->")[0]
    write_parts(tables | {MISSED: missed(results, before)}, page)


def write_parts(parts: Mapping[str, str], page: Path) -> None:
    """Replaces parts of a page, each between `<!-- begin: NAME -->` and `<!-- end -->`.

    Raises:
        HloError: The page is not there, or has no marks for a part.
    """
    if not page.is_file():
        raise HloError(f"expected a Markdown page with marks at {page}, there is none")
    text = page.read_text(encoding="utf-8")
    for name, part in parts.items():
        mark = f"<!-- begin: {name} -->"
        pattern = re.compile(re.escape(mark) + ".*?" + re.escape("<!-- end -->"), re.DOTALL)
        whole = f"{mark}\n{part}\n<!-- end -->"
        text, count = pattern.subn(lambda _, whole=whole: whole, text)
        if not count:
            raise HloError(f"expected {mark} and <!-- end --> in {page}, found none: add them")
    write_text_atomically(page, text)


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return ""
    return f"**{number(figure.value)}**" if figure.missed else number(figure.value)


def _aims(figures: Mapping[str, Figure]) -> str:
    """Returns the aims of a row, with their columns if not all columns have them."""
    by_aim: dict[str, list[str]] = {}
    for column, figure in figures.items():
        if figure.aim is not None:
            by_aim.setdefault(str(figure.aim), []).append(column)
    everywhere = [len(columns) == len(figures) for columns in by_aim.values()]
    return "; ".join(
        aim if every else f"{aim} at {' and '.join(columns)}"
        for (aim, columns), every in zip(by_aim.items(), everywhere, strict=True)
    )


def _made_with(result: GroupResult) -> str:
    """Returns date, machine and duration of a group's measurement, in one line."""
    made = result.made_with
    if not made:
        return ""
    commit = str(made.get("commit"))
    commit = commit[:10] + ("+changes" if commit.endswith("+changes") else "")
    return (
        f"Measured {made.get('time')} at commit `{commit}`, {made.get('cpus')} cores of "
        f"{made.get('processor')}, {made.get('memory_gib')} GiB, load before {made.get('load')}; "
        f"{result.seconds:.0f} s."
    )
