"""A report as one page of HTML that needs nothing else."""

import base64
from collections.abc import Sequence
from html import escape

from experiments.report.section import NOTHING, Cell, Chapter, Number, Picture, Section, Table

_STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
  max-width: 1180px; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.7rem; } h2 { margin-top: 3rem; border-bottom: 1px solid #ccc; }
h3 { margin-top: 2rem; }
figure { margin: 1rem 0; } img { max-width: 100%; height: auto; }
.scroll { overflow-x: auto; margin: 0.8rem 0; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.6rem; text-align: right; border-bottom: 1px solid #e3e3e3;
  white-space: nowrap; }
th { white-space: normal; vertical-align: bottom; background: #f4f6f8; cursor: pointer; }
th:first-child, td:first-child, td.text { text-align: left; }
th[aria-sort=ascending]::after { content: " ▲"; } th[aria-sort=descending]::after { content: " ▼"; }
tbody tr:hover { background: #f6f9fc; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; font-size: 13px;
  background: #f4f6f8; padding: 0.6rem 1rem; }
dt { color: #555; } dd { margin: 0; overflow-wrap: anywhere; }
summary { cursor: pointer; }
"""

# Empty cells stay last in either order; a second click turns the order round.
_SCRIPT = """
for (const head of document.querySelectorAll("th")) head.onclick = () => {
  const table = head.closest("table"), body = table.tBodies[0], at = head.cellIndex;
  const up = head.getAttribute("aria-sort") !== "ascending";
  for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const key = row => row.cells[at].dataset.sort;
  const compare = (a, b) => isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b;
  const rows = [...body.rows].sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
    return up ? compare(x, y) : compare(y, x);
  });
  body.append(...rows);
};
"""


def html_page(title: str, introduction: Sequence[str], chapters: Sequence[Chapter]) -> str:
    """The page.

    Args:
        title: Its heading.
        introduction: Paragraphs before the first chapter.
        chapters: What it shows.
    """
    links = "".join(f'<li><a href="#{escape(c.key)}">{escape(c.title)}</a></li>' for c in chapters)
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>",
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{escape(text)}</p>" for text in introduction),
        f"<ul>{links}</ul>",
        *map(_chapter, chapters),
        f"<script>{_SCRIPT}</script>\n</html>\n",
    ]
    return "\n".join(parts)


def _chapter(chapter: Chapter) -> str:
    made = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in chapter.made
    )
    parts = [f'<h2 id="{escape(chapter.key)}">{escape(chapter.title)}</h2>', f"<dl>{made}</dl>"]
    parts += [f"<p>{escape(note)}</p>" for note in chapter.notes]
    return "\n".join([*parts, *map(_section, chapter.sections)])


def _section(section: Section) -> str:
    parts = [f"<h3>{escape(section.title)}</h3>"]
    parts += [f"<p>{escape(text)}</p>" for text in section.text]
    if section.picture:
        parts.append(_picture(section.picture))
    if section.table:
        parts.append(_table(section.table))
    return "\n".join(parts)


def _picture(picture: Picture) -> str:
    data = base64.b64encode(picture.png).decode()
    source = f"data:image/png;base64,{data}"
    alt = escape(picture.alt)
    return f'<figure><img alt="{alt}" width="{picture.width}" src="{source}"></figure>'


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in table.headings)
    rows = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    text = (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table></div>"
    )
    if table.folded:
        return f"<details><summary>{len(table.rows)} rows</summary>{text}</details>"
    return text


def _cell(cell: Cell) -> str:
    if cell is None:
        return f"<td>{NOTHING}</td>"
    if isinstance(cell, str):
        return f'<td class="text" data-sort="{escape(cell)}">{escape(cell)}</td>'
    value, text = (cell.value, cell.text) if isinstance(cell, Number) else (cell, f"{cell:,}")
    return f'<td data-sort="{value!r}">{escape(text)}</td>'
