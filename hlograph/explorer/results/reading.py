"""Determines the type of a folder or file of results, and returns its page."""

from __future__ import annotations

from pathlib import Path

from hlograph.errors import HloError
from hlograph.explorer.results.race_files import SPEED_TABLE, TUNE_TABLE
from hlograph.explorer.results.races import race_results
from hlograph.explorer.results.study import FILES as STUDY_FILES
from hlograph.explorer.results.study import study_results
from hlograph.explorer.results.tables import Results
from hlograph.explorer.results.training import RESULTS, SETTINGS, training_results
from hlograph.storage.event_files import PATTERN


def is_results(path: Path) -> bool:
    """Returns True if a path is that of a study, of races or of a training."""
    return bool(path.name in STUDY_FILES or _pages_in(path))


def results_of(path: Path) -> list[Results]:
    """Returns the pages of a study, of races or of a training, or of all in a folder.

    Args:
        path: Folder of a run, folder of several studies, or a study's file.

    Raises:
        DamagedFileError: A file is cut off or altered.
        HloError: The folder has no results.
        OSError: A file cannot be read.
    """
    if path.name in STUDY_FILES:
        return [study_results(path)]
    found = _pages_in(path)
    if not found:
        raise HloError(
            f"expected a folder with {STUDY_FILES[0]}, {SPEED_TABLE}, {TUNE_TABLE}, {RESULTS}, "
            f"TensorBoard's event files, or folders with these, and {path} has none of them"
        )
    return [_page(one) for one in found]


def _pages_in(path: Path) -> list[Path]:
    """Returns the folder or file of each page: the folder itself, or those directly in it."""
    if not path.is_dir():
        return []
    if own := _own(path):
        return [own]
    return [one for folder in sorted(path.iterdir()) if folder.is_dir() and (one := _own(folder))]


def _own(folder: Path) -> Path | None:
    """Returns the study's file in a folder, or the folder if it is one of a run."""
    for name in STUDY_FILES:
        if (folder / name).is_file():
            return folder / name
    names = (SPEED_TABLE, TUNE_TABLE, RESULTS, SETTINGS)
    is_run = any((folder / name).is_file() for name in names)
    races = (folder / "races").is_dir() or (folder / "programs").is_dir()
    return folder if is_run or races or any(folder.glob(PATTERN)) else None


def _page(path: Path) -> Results:
    if path.name in STUDY_FILES:
        return study_results(path)
    tables = any((path / name).is_file() for name in (SPEED_TABLE, TUNE_TABLE))
    races = (path / "races").is_dir() or (path / "programs").is_dir()
    return race_results(path) if tables or races else training_results(path)
