"""Parts of a report, and the report as Markdown, with its pictures in files beside it."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from experiments.evaluate.picture import Picture

TO = NOTHING = "\N{EN DASH}"
"""Dash between the ends of a range, and in an empty cell."""
_CODE = re.compile(r"(`[^`]+`)")


@dataclass(frozen=True)
class Number:
    """A cell with a value and the text that shows it."""

    value: float
    text: str


Cell = str | int | Number | None
"""Content of a table's cell; None is undefined or not measured."""
Column = tuple[str, Callable[[str], Cell]]
"""Heading of a column, and the function that returns the cell of a method."""


@dataclass(frozen=True)
class Table:
    """Rows under headings; the first column names the row."""

    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    folded: bool = False
    """True for a long table that is folded until a reader opens it."""

    def __post_init__(self) -> None:
        """Raises ValueError if a row has another length than the headings."""
        for row in self.rows:
            if len(row) != len(self.headings):
                raise ValueError(f"expected {len(self.headings)} cells, got {len(row)}: {row}")


@dataclass(frozen=True)
class Section:
    """A part of a chapter: text, then the picture, then the table."""

    title: str
    text: Sequence[str] = ()
    """Paragraphs."""
    picture: Picture | None = None
    table: Table | None = None


@dataclass(frozen=True)
class Summary:
    """The answer of a study to its question."""

    sentences: Sequence[str] = ()
    """The answer in at most three sentences; the first one stands in the index."""
    table: Table | None = None


@dataclass(frozen=True)
class Chapter:
    """The page of one study."""

    key: str
    """Name that is unique in a report; the beginning of the names of its files."""
    title: str
    question: str
    summary: Summary
    made: Sequence[tuple[str, str]]
    """Command, seeds, commit and machine of the study, each with its name."""
    notes: Sequence[str]
    sections: Sequence[Section]


def of_columns(first: str, names: Sequence[str], columns: Sequence[Column]) -> Table:
    """Returns a table with a row for each name, without columns that are empty."""
    cells = [(heading, [value(name) for name in names]) for heading, value in columns]
    kept = [(h, column) for h, column in cells if any(cell is not None for cell in column)]
    rows = [[name, *(column[n] for _, column in kept)] for n, name in enumerate(names)]
    return Table((first, *(heading for heading, _ in kept)), rows)


def ratio(value: float) -> Number | None:
    """Returns a ratio with three decimals, or None for nan."""
    return None if math.isnan(value) else Number(value, f"{value:.3f}")


def percent(value: float) -> Number | None:
    """Returns a share from 0 to 1 in per cent, or None for nan."""
    return None if math.isnan(value) else Number(value, f"{100 * value:.0f} %")


def plain(value: float) -> Number | None:
    """Returns a number with three digits, or all before the point; None for nan."""
    if math.isnan(value):
        return None
    return Number(value, f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}")


def interval(value: float, bounds: tuple[float, float]) -> Number | None:
    """Returns a ratio with its interval in brackets, or None for nan."""
    if math.isnan(value):
        return None
    low, high = bounds
    return Number(value, f"{value:.3f} ({low:.3f}{TO}{high:.3f})")


def mean_over_seeds(values: Sequence[float]) -> Number | None:
    """Returns the mean over seeds of numbers of any size, or None if none is defined."""
    defined = [value for value in values if not math.isnan(value)]
    return plain(math.fsum(defined) / len(defined)) if defined else None


def over_seeds(values: Sequence[float], decimals: int = 3) -> Number | None:
    """Returns the mean over seeds with the least and the greatest, or None if none is defined."""
    defined = [value for value in values if not math.isnan(value)]
    if not defined:
        return None
    mean = math.fsum(defined) / len(defined)
    text = f"{mean:.{decimals}f}"
    if len(defined) > 1:
        text += f" ({min(defined):.{decimals}f}{TO}{max(defined):.{decimals}f})"
    return Number(mean, text)


def share_over_seeds(values: Sequence[float]) -> Number | None:
    """Returns the same as ``over_seeds`` for shares from 0 to 1, in per cent."""
    share = over_seeds([100 * value for value in values], decimals=0)
    return share and Number(share.value, f"{share.text} %")


def picture_file(chapter: Chapter, picture: Picture) -> str:
    """Returns the name of a picture's file, relative to the report's folder."""
    return f"figures/{chapter.key}-{picture.name}.png"


def index(chapters: Sequence[Chapter]) -> str:
    """Returns the index: for each study its question, its answer and its first picture."""
    made = "Made by `python -m experiments.paper report` from the study.json of each run."
    parts = ["# Results", made]
    for chapter in chapters:
        parts.append(f"## [{_escaped(chapter.title)}]({chapter.key}.md)")
        parts += map(_escaped, (chapter.question, *chapter.summary.sentences[:1]))
        pictures = [section.picture for section in chapter.sections if section.picture]
        parts += [f"[{_image(chapter, each)}]({chapter.key}.md)" for each in pictures[:1]]
    return _joined(parts)


def page(chapter: Chapter, index_file: str) -> str:
    """Returns the page of one study: a summary of one screen, then everything else.

    Args:
        chapter: The study. Its pictures are expected under ``picture_file``.
        index_file: Name of the file of the index, to link to.
    """
    made = dict(chapter.made)
    command = f"`{made['command']}`, seeds {made['seeds']}" if "command" in made else ""
    parts = [f"# {_escaped(chapter.title)}", f"[All results]({index_file})"]
    if chapter.question:
        parts.append(f"**Question.** {_escaped(chapter.question)}")
    if chapter.summary.sentences:
        parts.append(f"**Answer.** {_escaped(' '.join(chapter.summary.sentences))}")
    if chapter.summary.table:
        parts.append(_table(chapter.summary.table))
    parts += [f"**Command.** {command}" if command else "", "## Notes"]
    parts += [f"- {_escaped(note)}" for note in chapter.notes]
    details = "\n".join(f"- {name}: {_made(name, value)}" for name, value in chapter.made)
    parts += ["## Made with", details]
    return _joined([*parts, *(_section(chapter, section) for section in chapter.sections)])


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _made(name: str, value: str) -> str:
    return f"`{value}`" if name in ("command", "commit") else _escaped(value)


def _section(chapter: Chapter, section: Section) -> str:
    parts = [f"## {_escaped(section.title)}", *map(_escaped, section.text)]
    if section.picture:
        parts.append(_image(chapter, section.picture))
    if section.table:
        parts.append(_table(section.table))
    return "\n\n".join(parts)


def _image(chapter: Chapter, picture: Picture) -> str:
    return f"![{_escaped(picture.alt)}]({picture_file(chapter, picture)})"


def _table(table: Table) -> str:
    lines = [list(map(_escaped, table.headings))]
    text = [all(isinstance(row[n], str) for row in table.rows) for n in range(len(table.headings))]
    # Numbers are aligned to the right.
    lines.append(["---" if of_text else "---:" for of_text in text])
    lines += [list(map(_cell, row)) for row in table.rows]
    drawn = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    if table.folded:
        summary = f"<details><summary>{len(table.rows)} rows</summary>"
        return f"{summary}\n\n{drawn}\n\n</details>"
    return drawn


def _cell(cell: Cell) -> str:
    if cell is None:
        return NOTHING
    if isinstance(cell, Number):
        return _escaped(cell.text)
    return _escaped(cell) if isinstance(cell, str) else f"{cell:,}"


def _escaped(text: str) -> str:
    """Returns text without signs that Markdown gives a meaning to; `code` stays code."""
    parts = _CODE.split(text.replace("\n", " "))
    # Every second part is code.
    parts[::2] = map(_plain, parts[::2])
    parts[1::2] = [part.replace("|", "\\|") for part in parts[1::2]]
    return "".join(parts)


def _plain(text: str) -> str:
    for sign in "\\|<>*_`[]":
        text = text.replace(sign, f"\\{sign}")
    return text
