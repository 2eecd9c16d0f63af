"""A report as Markdown, its pictures in files beside it."""

from collections.abc import Sequence

from experiments.report.section import NOTHING, Cell, Chapter, Number, Picture, Section, Table


def picture_file(chapter: Chapter, picture: Picture) -> str:
    """Name of the file of a picture."""
    return f"{chapter.key}-{picture.name}.png"


def markdown(title: str, introduction: Sequence[str], chapters: Sequence[Chapter]) -> str:
    """The text.

    Args:
        title: Its heading.
        introduction: Paragraphs before the first chapter.
        chapters: What it shows; their pictures are expected under ``picture_file``.
    """
    parts = [f"# {title}", *introduction, *map(_chapter, chapters)]
    return "\n\n".join(parts) + "\n"


def _chapter(chapter: Chapter) -> str:
    made = "\n".join(f"- {name}: {_made(name, value)}" for name, value in chapter.made)
    sections = [_section(chapter, section) for section in chapter.sections]
    parts = [f"## {chapter.title}", made, *map(_escaped, chapter.notes), *sections]
    return "\n\n".join(part for part in parts if part)


def _made(name: str, value: str) -> str:
    return f"`{value}`" if name in ("command", "commit") else _escaped(value)


def _section(chapter: Chapter, section: Section) -> str:
    parts = [f"### {_escaped(section.title)}", *map(_escaped, section.text)]
    if section.picture:
        alt = _escaped(section.picture.alt)
        parts.append(f"![{alt}]({picture_file(chapter, section.picture)})")
    if section.table:
        parts.append(_table(section.table))
    return "\n\n".join(parts)


def _table(table: Table) -> str:
    lines = [list(map(_escaped, table.headings))]
    # Numbers to the right, as on the HTML page.
    text = [all(isinstance(row[n], str) for row in table.rows) for n in range(len(table.headings))]
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
    """Text in which nothing ends a cell, begins a tag or stresses a word."""
    for sign in "\\|<>*_`[]":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("\n", " ")
