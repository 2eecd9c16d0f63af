"""``hlograph optimize``: finds plans, and writes them to files."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from hlograph.commands.command import Answer, Flag, OptionalFile, one_line
from hlograph.commands.sources import SourceCommand, SourceName, stem_of
from hlograph.commands.text_tables import duration, table
from hlograph.errors import HloError, HloParseError
from hlograph.execution.interrupts import INTERRUPTED, noted_interrupts

if TYPE_CHECKING:
    from hlograph.corpus import BenchmarkSet
    from hlograph.measuring.trial import Job
    from hlograph.optimization import Report

Numerics = Literal["exact", "close", "fast"]
"""The classes of ``hlograph.plans.NUMERICS``, which takes a second to import."""

_HEADER: tuple[str, ...] = (
    "program",
    "default",
    "plan",
    "times as fast",
    "95 % interval",
    "numerics",
    "file",
)


@dataclass(frozen=True, kw_only=True)
class Optimize(SourceCommand):
    """Finds the fastest plan of a program in the installed jaxlib, and writes it to a file.

    Ctrl-C ends the search and keeps the best plan so far.
    """

    source: SourceName
    """package.module:function, a file with HLO or StableHLO, or a folder of them (a dump)."""
    budget: float = 60.0
    """Seconds to search for, for each program."""
    numerics: Numerics = "close"
    """Class of results: exact (equal bits), close (rounding alone) or fast (fast math allowed)."""
    out: OptionalFile = None
    """File of the plan; for a folder of programs, folder of the plans. By default NAME.plan.json,
    or the folder NAME.plans, where NAME is that of the source."""
    store: Annotated[str | None, tyro.conf.arg(metavar="STORE", help_behavior_hint="")] = None
    """Folder or URL that keeps plans for the next time; by default in the cache of the user."""
    methods: Annotated[
        tuple[str, ...], tyro.conf.arg(metavar="NAME ...", help_behavior_hint="")
    ] = ()
    """Names of the methods that propose plans; by default recipes, forms, flags, passes, greedy,
    joint."""
    objective: Literal["time", "memory"] = "time"
    """What is made small: the time, or the peak memory at no more than 1.1 times the time."""
    max_memory_ratio: float = 1.25
    """Largest peak memory of a plan, as a multiple of the default's; inf allows any."""
    measure_again: Flag = False
    """Search again although the store has a plan, without earlier measurements."""
    search_further: Flag = False
    """Go on with the search although the store has a plan, from all that was measured before."""

    def run(self) -> Answer:
        """Searches for the plans; see the class."""
        from hlograph.optimization.methods import methods

        if not self.budget > 0:
            raise HloError(f"expected a --budget above 0 seconds, got {self.budget:g}")
        methods(self.methods or None)  # wrong names are found before the work
        self._check_out()
        with noted_interrupts() as interrupts:
            if Path(self.source).is_dir():
                return self._folder(interrupts)
            report = self._report(self.job_of(self.source, self.numerics))
            named = self.out or Path(f"{stem_of(self.source)}.plan.json")
            file = _saved(report, named, interrupts)
            status = INTERRUPTED if interrupts else 0
            said = f"written to {file}" if file else f"nothing was found, {named} is not written"
            return Answer(f"{report.table()}\n  {said}", _content(report, file), status)

    def _check_out(self) -> None:
        many = Path(self.source).is_dir()
        if self.out is not None and self.out.exists() and self.out.is_dir() != many:
            raise HloError(
                f"--out: expected {'a folder' if many else 'a file'}, as the source is "
                f"{'a folder' if many else 'one program'}, got {str(self.out)!r}"
            )

    def _report(self, job: Job) -> Report:
        from hlograph.optimization import SearchSettings, Store, optimize_program

        limit = self.max_memory_ratio
        job = replace(job, objective=self.objective, max_memory_ratio=limit)
        settings = SearchSettings(
            self.budget,
            self.methods or None,
            Store(self.store),
            self.measure_again,
            self.search_further,
        )
        return optimize_program(job, settings)

    def _folder(self, interrupts: list[int]) -> Answer:
        """Optimizes every module of a folder; one that fails is a row with the reason."""
        from hlograph.measuring.trial import Job
        from hlograph.plans import Program

        self._check_file(self.source)
        folder = self.out or Path(f"{stem_of(self.source)}.plans")
        benchmarks = _benchmarks(self.source)
        rows, contents, failed = [_HEADER], [], 0
        for number, benchmark in enumerate(benchmarks):
            said = f"{number + 1} of {len(benchmarks)}, {benchmark.name}"
            try:
                job = Job(Program.of(benchmark.load()), None, self.numerics)
                report = self._report(job)
                file = folder / f"{benchmark.name}.plan.json"
                file = _saved(report, file, interrupts)
            except KeyboardInterrupt:
                break
            except HloError as error:
                failed += 1
                print(f"{said}: {one_line(error)}", file=sys.stderr)
                rows.append((benchmark.name, "failed", *[""] * 5))
                contents.append({"name": benchmark.name, "error": str(error)})
                continue
            print(f"{said}: {report.conclusion}", file=sys.stderr)
            rows.append(_row(benchmark.name, report, file))
            contents.append({"name": benchmark.name} | _content(report, file))
            if interrupts:
                break
        status = INTERRUPTED if interrupts else int(failed > 0)
        content = {"programs": contents, "failed": failed}
        return Answer(table(rows, right=(1, 2, 3)), content, status)


def _benchmarks(folder: str) -> BenchmarkSet:
    from hlograph import corpus

    def left_out(error: HloParseError) -> None:
        print(f"warning: left out: {one_line(error)}", file=sys.stderr)

    return corpus.from_folder(folder, skip_unreadable=left_out)


def _saved(report: Report, file: Path, interrupts: list[int]) -> Path | None:
    """Writes a plan. A search that was ended and found none leaves an older file as it is."""
    if interrupts and report.plan.is_empty:
        return None
    report.plan.save(file)
    return file


def _content(report: Report, file: Path | None) -> dict[str, Any]:
    return json.loads(report.to_json()) | {"file": str(file) if file else None}


def _row(name: str, report: Report, path: Path | None) -> tuple[str, ...]:
    file, measured = str(path or "not written"), report.plan.measured
    if measured is None:
        return (name, "", "", "1.000", "default kept", report.plan.numerics, file)
    return (
        name,
        duration(measured.default_seconds),
        duration(measured.seconds),
        f"{measured.ratio:.3f}",
        f"{measured.low:.3f} to {measured.high:.3f}",
        report.plan.numerics,
        file,
    )
