"""Parts of reports in Markdown, and pages of the documentation that hold a report."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hlograph.storage.atomic_write import write_text_atomically


def table(headings: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Returns a table in Markdown."""
    headings = list(headings)
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    return "\n".join(lines + [f"| {' | '.join(map(str, row))} |" for row in rows])


def code_list(names: Iterable[str]) -> str:
    """Returns names as code, separated by commas."""
    return ", ".join(f"`{name}`" for name in names)


class Page:
    """Markdown page that holds a report between `<!-- begin: NAME -->` and `<!-- end -->`.

    The text around the report is written by hand and stays.

    Args:
        path: The page. One that does not exist is made and holds the report alone.
        name: Name of the report in the mark.

    Raises:
        SystemExit: The page has no such marks.
    """

    def __init__(self, path: Path, name: str) -> None:
        begin, end = f"<!-- begin: {name} -->\n", "<!-- end -->"
        text = path.read_text(encoding="utf-8") if path.exists() else f"{begin}{end}\n"
        before, found, rest = text.partition(begin)
        _, ended, after = rest.partition(end)
        if not found or not ended:
            raise SystemExit(f"expected {begin.strip()} and {end} in {path}: add them")
        self._path, self._before, self._after = path, before + begin, end + after

    def write(self, report: str) -> None:
        """Replaces the report in the page."""
        write_text_atomically(self._path, f"{self._before}\n{report.rstrip()}\n{self._after}")
