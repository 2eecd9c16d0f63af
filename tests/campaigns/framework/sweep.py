"""Sweeps: a list of named checks on each module, in workers that may be lost, and their reports."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hlograph.corpus import Benchmark
from hlograph.errors import WorkerLostError
from hlograph.isolation import WorkerLimits, make_pool
from hlograph.isolation.worker_process import MakeWorker
from hlograph.storage.atomic_write import write_text_atomically
from tests.campaigns.framework.module_sets import select
from tests.campaigns.framework.tasks import INTERRUPTED, TaskQueue, progress


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
        before, begun, rest = text.partition(begin)
        _, ended, after = rest.partition(end)
        if not begun or not ended:
            raise SystemExit(f"expected {begin.strip()} and {end} in {path}: add them")
        self._path, self._before, self._after = path, before + begin, end + after

    def write(self, report: str) -> None:
        """Replaces the report in the page."""
        write_text_atomically(self._path, f"{self._before}\n{report.rstrip()}\n{self._after}")


Result = dict[str, Any]
"""Result of one check: its `name`, and what the campaign adds. A check that ended its worker has a
`verdict` (the kind of loss) and a `reason`; without a name, the module could not be loaded."""

Line = dict[str, Any]
"""Results of one module: `benchmark`, `op_count` and `results`."""


@dataclass(frozen=True)
class SweepConfig:
    """Settings that sweeps have in common."""

    out: Path = Path("runs/sweep")
    """Folder of the results; a sweep found in it is continued."""
    benchmarks: tuple[str, ...] = ("*",)
    """Globs over names of the corpus; small/* are the small modules of the tests."""
    max_ops: int = 1_000
    """Modules with more instructions are left out."""
    prepare: tuple[str, ...] = ()
    """Passes that run first; their result is the original."""
    max_seconds: float = 60.0
    """Longest time of one operation on a module; then the worker is replaced."""
    max_memory: int = 8 << 30
    """Resident bytes of a worker."""
    workers: int = 1
    """Worker processes; with 0 this process does the work, for debugging."""
    time_limit: float = float("inf")
    """Seconds after which no further module is begun."""
    page: Path | None = None
    """Markdown page that gets the report as well: see `Page`."""


PLACES = frozenset({"out", "page", "workers", "time_limit", "max_memory"})
"""Settings that say where and when a sweep runs. They do not change its results."""


@dataclass(frozen=True)
class SweepTask:
    """Task of a worker.

    Attributes:
        benchmark: Name of the module.
        names: Checks to do on it. A worker notes each before it begins, name first.
    """

    benchmark: str
    names: tuple[str, ...]


class Sweep:
    """Does a list of checks on each module, smallest module first.

    Each module that is done is a line of `results.jsonl` in the folder. Modules that have a line
    are not done again, so the same command continues a sweep. A check that ends its worker is
    recorded, and the others are done without it.

    Args:
        program: Name of the program, which marks its report in a page.
        config: Settings.
        names: Names of the checks.
        make_worker: Makes the function that does a `SweepTask` and returns a list of results.
    """

    def __init__(
        self, program: str, config: SweepConfig, names: Sequence[str], make_worker: MakeWorker
    ) -> None:
        self._config, self._names, self._make_worker = config, tuple(names), make_worker
        self._results = config.out / "results.jsonl"
        self._pages = [Page(path, program) for path in (config.page,) if path is not None]

    def run(
        self,
        write_report: Callable[[list[Line]], str],
        benchmarks: Iterable[Benchmark] | None = None,
    ) -> int:
        """Does what is missing and writes `report.md` in the folder, after Ctrl-C as well.

        Args:
            write_report: Returns the report of all lines.
            benchmarks: The modules; by default those that the settings select.

        Returns:
            Exit status: 0, or 130 after Ctrl-C.
        """
        status = 0
        if benchmarks is None:
            benchmarks = select(self._config.benchmarks, self._config.max_ops)
        # The next line must not be appended to one that was cut off.
        lines = self.lines()
        write_text_atomically(self._results, "".join(json.dumps(line) + "\n" for line in lines))
        try:
            self._run({benchmark.name: benchmark.op_count for benchmark in benchmarks})
        except KeyboardInterrupt:
            status = INTERRUPTED
        report = write_report(self.lines())
        write_text_atomically(self._config.out / "report.md", report)
        for page in self._pages:
            page.write(report)
        print(self._config.out / "report.md")
        return status

    def lines(self) -> list[Line]:
        """Returns the results so far, smallest module first."""
        if not self._results.exists():
            return []
        # What follows the last end of line was cut off when the process ended.
        whole = self._results.read_text(encoding="utf-8").rpartition("\n")[0]
        lines = [json.loads(line) for line in whole.splitlines()]
        return sorted(lines, key=lambda line: (line["op_count"], line["benchmark"]))

    def _run(self, sizes: dict[str, int]) -> None:
        config = self._config
        done = {line["benchmark"] for line in self.lines()}
        missing = [name for name in sizes if name not in done]
        lost: dict[str, list[Result]] = defaultdict(list)
        limits = WorkerLimits(config.max_seconds, 10 * config.max_seconds, memory=config.max_memory)
        queue = TaskQueue((SweepTask(name, self._names) for name in missing), config.time_limit)
        with (
            make_pool(self._make_worker, config.workers, limits) as pool,
            progress(len(sizes), "module", len(sizes) - len(missing)) as bar,
        ):
            for task, answer in queue.run(pool):
                if isinstance(answer, WorkerLostError):
                    blamed = (answer.note or b"").decode().split(" ")[0]
                    is_named = blamed in task.names
                    failure = {"verdict": answer.kind, "reason": str(answer)}
                    lost[task.benchmark].append({"name": blamed if is_named else "", **failure})
                    if is_named:
                        others = tuple(name for name in task.names if name != blamed)
                        queue.put(replace(task, names=others))
                        continue
                    answer = []
                results = [*answer, *lost[task.benchmark]]
                self._append(
                    {
                        "benchmark": task.benchmark,
                        "op_count": sizes[task.benchmark],
                        "results": results,
                    }
                )
                bar.update()

    def _append(self, line: Line) -> None:
        with self._results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
