"""Pages of results, with the programs and plans that their rows link to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hlograph.errors import HloError
from hlograph.explorer.graph_pages import module_data
from hlograph.explorer.results.races import SPEED_TABLE, TUNE_TABLE, plans_of, race_results
from hlograph.explorer.results.studies import FILES as STUDY_FILES
from hlograph.explorer.results.studies import study_results
from hlograph.explorer.results.tables import PageTable, Results
from hlograph.explorer.results.training import RESULTS, SETTINGS, training_results
from hlograph.explorer.site import Contents, FileContent, Page
from hlograph.storage.event_files import PATTERN

if TYPE_CHECKING:
    from hlograph.module import Module

_Reader = Callable[[], Results]
_OF_RACES = ("races", "programs")
"""Folders of a run of races."""


def is_results(path: Path) -> bool:
    """Returns True if a path is that of a study, of races or of a training."""
    return bool(_readers_of(path))


def results_of(path: Path) -> list[Results]:
    """Returns the pages of a study, of races or of a training, or of all in a folder.

    Args:
        path: Folder of a run, folder of several studies, or a study's file.

    Raises:
        DamagedFileError: A file is cut off or altered.
        HloError: The folder has no results.
        OSError: A file cannot be read.
    """
    readers = _readers_of(path)
    if not readers:
        raise HloError(
            f"expected a folder with {STUDY_FILES[0]}, {SPEED_TABLE}, {TUNE_TABLE}, {RESULTS}, "
            f"TensorBoard's event files, or folders with these, and {path} has none of them"
        )
    return [read() for read in readers]


def _readers_of(path: Path) -> list[_Reader]:
    """Returns what reads each page: that of the path itself, or those of folders in it."""
    if path.name in STUDY_FILES:
        return [partial(study_results, path)]
    if not path.is_dir():
        return []
    if reader := _reader_of(path):
        return [reader]
    folders = (folder for folder in sorted(path.iterdir()) if folder.is_dir())
    return [reader for folder in folders if (reader := _reader_of(folder))]


def _reader_of(folder: Path) -> _Reader | None:
    def has_file(*names: str) -> bool:
        return any((folder / name).is_file() for name in names)

    for name in STUDY_FILES:
        if has_file(name):
            return partial(study_results, folder / name)
    if has_file(SPEED_TABLE, TUNE_TABLE) or any((folder / n).is_dir() for n in _OF_RACES):
        return partial(race_results, folder)
    if has_file(RESULTS, SETTINGS) or any(folder.glob(PATTERN)):
        return partial(training_results, folder)
    return None


PROGRAM, PLAN = "result-program", "result-plan"
"""Names of the queries that make the pages of programs and plans."""


class ResultsSite:
    """A site of results.

    Its files grow while it is served: the graph of a program and the page of a plan are made when
    somebody opens them.

    Args:
        path: Folder or file; see ``results_of``.
        programs: Names or globs of programs whose graphs are written with the pages.
        say: Function that shows the user a sentence.

    Raises:
        HloError: There are no results, or a glob matches none of their programs.
    """

    def __init__(
        self,
        path: Path,
        programs: Sequence[str] = (),
        say: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        from hlograph.explorer.plan_pages import PlanQueries

        self._say, self._plan_queries = say, PlanQueries()
        self._files: dict[str, FileContent] = {}
        self._folders: dict[str, Path] = {}
        read = results_of(path)
        self._programs = {name for results in read for name in _programs_in(results)}
        written = {name: self._program_file(name) for name in self._chosen(programs)}
        pages = [self._page(results, written) for results in read]
        queries = {PROGRAM: self._program, PLAN: self._plan, **self._plan_queries.queries}
        self.contents = Contents(path.resolve().name, tuple(pages), self._files, queries)

    def close(self) -> None:
        """Ends the workers that measured plans."""
        self._plan_queries.close()

    def _page(self, results: Results, written: dict[str, str]) -> Page:
        name = _slug(results.title)
        while name in self._folders:
            name += "-2"
        self._folders[name] = results.folder
        self._files[f"{name}-results"] = results.to_json()
        data = {
            "results": f"{name}-results",
            "programs": written,
            "queries": {"program": PROGRAM, "plan": PLAN},
        }
        return Page("results", name, results.title, data)

    def _chosen(self, globs: Sequence[str]) -> list[str]:
        for glob in globs:
            if not any(fnmatchcase(name, glob) for name in self._programs):
                raise HloError(f"no program of these results is called {glob!r}")
        chosen = {name for name in self._programs if any(fnmatchcase(name, g) for g in globs)}
        return sorted(chosen)

    def _program_file(self, name: str) -> str:
        """Returns the data file of a program, which has it from now on."""
        file = f"program-{_slug(name)}"
        if file not in self._files:
            self._say(f"reading {name}")
            self._files[file] = module_data(_module(name))
        return file

    def _program(self, question: Any) -> dict[str, Any]:
        """Returns the data of a program's graph page."""
        name = question.get("program") if isinstance(question, dict) else None
        if name not in self._programs:
            raise HloError(f"no program of these results is called {name!r}")
        return {"module": self._program_file(name)}

    def _plan(self, question: Any) -> Any:
        """Returns the data of a plan's page."""
        from hlograph.explorer.plan_pages import speed_page
        from hlograph.measuring.trial import Job
        from hlograph.plans import Plan, Program

        asked = question if isinstance(question, dict) else {}
        folder = self._folders.get(asked.get("page", ""))
        plans = {} if folder is None else plans_of(folder)
        named = str(asked.get("plan"))
        if folder is None or named not in plans:
            raise HloError(f"these results have no plan {named!r}")
        plan = Plan.load(folder / named)
        job = Job(Program.of(_module(plans[named])), None, plan.numerics)
        plan.check(job.program, here=False)
        page, files = speed_page(plan, job, name=f"plan-{_slug(named)}", say=self._say)
        self._files.update(files)
        self._plan_queries.add(page.name, plan, job)
        return page.data


def _module(name: str) -> Module:
    """Returns a module of the corpus, or of a file that was tuned.

    Raises:
        HloError: It is neither in the corpus nor a file.
    """
    from hlograph import corpus
    from hlograph.module import Module

    try:
        return corpus.benchmark(name).load()
    except HloError:
        if not Path(name).is_file():
            raise
    return Module.load(name)


def _programs_in(results: Results) -> Iterator[str]:
    parts = (part for section in results.sections for part in section.parts)
    for table in (part for part in parts if isinstance(part, PageTable)):
        for number, column in enumerate(table.columns):
            if column.kind == "program":
                yield from (str(row[number]) for row in table.rows if row[number])


def _slug(text: str) -> str:
    """Returns a text as the name of a page or file."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "results"
