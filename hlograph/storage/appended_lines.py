"""Files of lines that are appended one by one, and lose none when their writer is killed."""

from __future__ import annotations

from pathlib import Path


def append_line(path: Path, line: str) -> None:
    """Appends a line to a file, which is made if there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The first newline ends a line that was cut off.
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")


def appended_lines(path: Path) -> list[str]:
    """Returns the lines of a file, from old to new; a line that was cut off may be among them."""
    try:
        return [line for line in path.read_text(encoding="utf-8").splitlines() if line]
    except FileNotFoundError:
        return []
