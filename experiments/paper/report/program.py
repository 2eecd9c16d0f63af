"""Writes tables and figures of studies as Markdown: an index, and a page for each study.

    python -m experiments.paper report runs/paper-figure2-full-* runs/paper-search-full-*
    python -m experiments.paper report docs/results/studies --out docs/results

Reads the study.json (or study.json.gz) of each run, or those in the folders below it, and nothing
else. A page is called after the folder of its study.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from experiments.evaluate.study import STUDY, Study
from hlograph.errors import DamagedFileError
from hlograph.storage.atomic_write import write_bytes_atomically, write_text_atomically

INDEX = "README.md"


@dataclass(frozen=True)
class ReportConfig:
    """Settings of `report`."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of studies, or study.json files."""
    out: Path = Path("docs/results")
    """Folder for README.md, the pages and their figures."""


def find(runs: Sequence[Path]) -> list[Path]:
    """Returns the files of all studies, each once.

    Args:
        runs: Files, or folders with studies at any depth.

    Raises:
        FileNotFoundError: There is no study in one of the folders.
    """
    found: dict[Path, None] = {}
    for run in runs:
        files = (
            [run] if run.is_file() else sorted(p for p in run.rglob(f"{STUDY}*") if _is_study(p))
        )
        if not files:
            raise FileNotFoundError(f"there is no {STUDY} in {run} or below it")
        found |= dict.fromkeys(path.resolve() for path in files)
    return list(found)


def _is_study(path: Path) -> bool:
    return path.name in (STUDY, f"{STUDY}.gz")


def write(studies: Sequence[tuple[str, Study]], out: Path) -> None:
    """Writes the report.

    Args:
        studies: Studies, each with the name of its folder.
        out: Folder for the files.

    Raises:
        OSError: A file cannot be written.
    """
    from experiments.paper.report.chapters import chapters
    from experiments.paper.report.markdown import index, page, picture_file

    shown = chapters(studies)
    for chapter in shown:
        for section in chapter.sections:
            if section.picture:
                path = out / picture_file(chapter, section.picture)
                write_bytes_atomically(path, section.picture.png)
        write_text_atomically(out / f"{chapter.key}.md", page(chapter, INDEX))
    write_text_atomically(out / INDEX, index(shown))


def main(arguments: Sequence[str] | None = None) -> int:
    """Reads the studies and writes the report.

    Returns:
        Exit status.
    """
    prog = "python -m experiments.paper report"
    config = tyro.cli(ReportConfig, args=arguments, prog=prog, description=__doc__)
    try:
        paths = find(config.runs)
        write([(path.parent.name, Study.load(path)) for path in paths], config.out)
    except (DamagedFileError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{len(paths)} studies: {config.out / INDEX}")
    return 0
