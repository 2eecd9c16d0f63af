"""Writes a report as Markdown, with its pictures in files beside it."""

import re
from collections.abc import Sequence

from experiments.paper.report.section import NOTHING, Cell, Chapter, Number, Picture, Section, Table

_CODE = re.compile(r"(`[^`]+`)")


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
    lines.append(["---" if left else "---:" for left in text])
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
