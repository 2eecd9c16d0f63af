"""Makes tables and pictures of studies: one page of HTML, and the same as Markdown with PNGs.

    python -m experiments.report runs/paper-figure2-full-* runs/paper-search-full-*
    python -m experiments.report runs/* --out docs/results

Reads the study.json of each run, or in the folders below it, and nothing else.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from experiments.outcomes.study import STUDY, Study
from hlograph.errors import DamagedFileError
from hlograph.storage.atomic_write import write_bytes_atomically, write_text_atomically

TITLE = "Results"
PAGE, TEXT = "index.html", "README.md"


@dataclass(frozen=True)
class ReportConfig:
    """Settings of `report`."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of studies, or study.json files."""
    out: Path = Path("docs/results")
    """Folder that index.html, README.md and the pictures are written to."""


def find(runs: Sequence[Path]) -> list[Path]:
    """The study files that were asked for, each once.

    Raises:
        FileNotFoundError: There is no study in one of the folders.
    """
    found: dict[Path, None] = {}
    for run in runs:
        files = [run] if run.is_file() else sorted(run.rglob(STUDY))
        if not files:
            raise FileNotFoundError(f"there is no {STUDY} in {run} or below it")
        found |= dict.fromkeys(path.resolve() for path in files)
    return list(found)


def write(studies: Sequence[Study], out: Path) -> None:
    """Writes the report.

    Args:
        studies: What it shows.
        out: Folder of its files.

    Raises:
        OSError: One cannot be written.
    """
    from experiments.report.chapters import chapters
    from experiments.report.html_page import html_page
    from experiments.report.markdown import markdown, picture_file

    shown = chapters(studies)
    for chapter in shown:
        for section in chapter.sections:
            if section.picture:
                path = out / picture_file(chapter, section.picture)
                write_bytes_atomically(path, section.picture.png)
    # The page is whole by itself; Markdown points to it, since it cannot sort.
    made = "Made by `python -m experiments.report` from the study.json of each run."
    pointer = f"[{PAGE}]({PAGE}) is the same as one page, with tables to be sorted by a click."
    write_text_atomically(out / TEXT, markdown(TITLE, [made, pointer], shown))
    plain = [made.replace("`", ""), "Click a heading to sort a table by it."]
    write_text_atomically(out / PAGE, html_page(TITLE, plain, shown))


def main(arguments: Sequence[str] | None = None) -> int:
    """Reads the studies and writes the report.

    Returns:
        Exit status.
    """
    config = tyro.cli(
        ReportConfig, args=arguments, prog="python -m experiments.report", description=__doc__
    )
    try:
        paths = find(config.runs)
        write([Study.load(path) for path in paths], config.out)
    except (DamagedFileError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{len(paths)} studies: {config.out / PAGE} and {config.out / TEXT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
