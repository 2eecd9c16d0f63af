"""Compares what jaxlib computes by default with references, on random programs or a set of modules.

    python -m tests.campaigns.references --programs 2000 --seed 0 --workers 2
    python -m tests.campaigns.references --source speed --max-ops 300 --out runs/references-speed

Each program runs as jaxlib compiles it by default, by its plain reference, by the engine's XLA and
by XLA's evaluator, in processes that may end. What differs is cut down to the smallest part that
differs, and explained: by rounding, by a rule of what XLA does not define, or as a fault.

Results are appended to `programs.jsonl` and `findings.jsonl` in the folder, one line for each
program and each finding. What has a line is not done again, so the same command goes on after
Ctrl-C. The tables are written to `report.md` and, with --page, into a page of the documentation.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

from hlograph import corpus
from hlograph.errors import WorkerLostError
from hlograph.isolation import WorkerPool
from hlograph.plans.jaxlib_modules import text_of
from hlograph.reading.hlo_text import read_instructions
from hlograph.storage.atomic_write import write_text_atomically
from tests.campaigns.framework.sweep import Page
from tests.campaigns.framework.tasks import INTERRUPTED, TaskQueue, progress
from tests.campaigns.random_programs.findings import (
    LIMITS,
    Explained,
    Judge,
    after_loss,
    explained,
    from_json,
    is_finding,
    kind_of,
)
from tests.campaigns.random_programs.inputs import Kind
from tests.campaigns.random_programs.judged import Judged, JudgingTask, make_worker
from tests.campaigns.random_programs.programs import random_program
from tests.campaigns.random_programs.report import report

_PROGRAM = "references"


@dataclass(frozen=True)
class ReferencesConfig:
    """Settings of a campaign."""

    source: Literal["random", "corpus", "speed"] = "random"
    """The programs: random ones, the modules of the corpus, or those of the speed set."""
    programs: int = 2000
    """Number of random programs, or the largest number of modules, the smallest first."""
    min_ops: int = 0
    """Modules with fewer instructions are left out."""
    max_ops: int = 300
    """Modules with more instructions are left out."""
    seed: int = 0
    """Seed of the programs and their inputs."""
    workers: int = 1
    """Processes at a time."""
    explain_seconds: float = 60.0
    """Seconds to look for the smallest part of a finding; 0 explains nothing."""
    time_limit: float = float("inf")
    """Seconds after which no further program is begun."""
    out: Path = Path("runs/references")
    """Folder of the results; a campaign found in it is continued."""
    page: Path | None = None
    """Markdown page that gets the report as well."""


def tasks(config: ReferencesConfig) -> Iterator[JudgingTask]:
    """Yields the programs of a campaign, in order."""
    if config.source == "random":
        for number in range(config.programs):
            drawn = random_program(config.seed, number)
            seed = 1_000_003 * config.seed + number
            without: frozenset[Kind] = (
                frozenset() if drawn.has_denormals else frozenset(("denormals",))
            )
            name = f"random {number}"
            yield JudgingTask(name, drawn.text, seed, drawn.is_special, without=without)
        return
    set_name = "speed" if config.source == "speed" else None
    benchmarks = corpus.load(set_name, max_op_count=config.max_ops)
    large = [each for each in benchmarks if each.op_count >= config.min_ops]
    ordered = sorted(large, key=lambda benchmark: (benchmark.op_count, benchmark.name))
    for benchmark in ordered[: config.programs]:
        text = benchmark.load().to_proto()
        yield JudgingTask(benchmark.name, text, config.seed, is_special=False)


class Lines:
    """A file of lines of JSON, to which lines are added."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        # What follows the last end of line was cut off when the process ended.
        whole = path.read_text().rpartition("\n")[0] if path.exists() else ""
        self.contents: list[dict[str, Any]] = [json.loads(line) for line in whole.splitlines()]
        write_text_atomically(path, f"{whole}\n" if whole else "")

    def add(self, content: dict[str, Any]) -> None:
        """Adds a line."""
        self.contents.append(content)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(content) + "\n")


def judge_programs(config: ReferencesConfig, lines: Lines) -> None:
    """Judges the programs that have no line, in worker processes."""
    done = {line["name"] for line in lines.contents}
    missing = (task for task in tasks(config) if task.name not in done)
    queue = TaskQueue(missing, config.time_limit)
    pool = WorkerPool(make_worker, config.workers, LIMITS, (make_worker.__module__,))
    with pool, progress(config.programs, "program", len(done)) as bar:
        for task, answer in queue.run(pool):
            if isinstance(answer, WorkerLostError):
                answer = after_loss(task, answer)
                if isinstance(answer, JudgingTask):
                    queue.put(answer)
                    continue
            lines.add(_line(task, answer))
            bar.update()


def _line(task: JudgingTask, judged: Judged) -> dict[str, Any]:
    text = task.source if isinstance(task.source, str) else text_of(task.source)
    opcodes = sorted(judged.opcodes or {op.opcode for op in read_instructions(text)})
    about = {"name": task.name, "is_special": task.is_special, "kind": kind_of(judged)}
    return {**about, **asdict(judged), "opcodes": opcodes}


def explain_findings(config: ReferencesConfig, lines: Lines, findings: Lines) -> None:
    """Explains the findings that are not explained yet, those with the fewest opcodes first."""
    done = {finding["name"] for finding in findings.contents}
    kinds = {
        line["name"]: line["kind"]
        for line in sorted(lines.contents, key=lambda line: len(line["opcodes"]))
        if is_finding(line["kind"]) and line["name"] not in done
    }
    by_name = {task.name: task for task in tasks(config) if task.name in kinds}
    begun, earlier = time.monotonic(), [from_json(each) for each in findings.contents]
    waiting = iter(list(kinds.items()))
    bar = progress(len(kinds) + len(done), "finding", len(done))

    def explain_some() -> None:
        judge = Judge()
        try:
            while time.monotonic() - begun < config.time_limit:
                name, kind = next(waiting, ("", ""))
                if not name:
                    return
                finding = explained(judge, by_name[name], kind, earlier, config.explain_seconds)
                earlier.append(finding)
                findings.add(asdict(finding))
                bar.update()
        finally:
            judge.close()

    with bar, ThreadPoolExecutor(config.workers) as threads:
        for future in [threads.submit(explain_some) for _ in range(config.workers)]:
            future.result()


def write_report(
    config: ReferencesConfig, lines: Iterable[Mapping[str, Any]], findings: Iterable[Explained]
) -> None:
    """Writes the tables to the folder, and into the page if there is one."""
    text = report(list(lines), findings)
    write_text_atomically(config.out / "report.md", text)
    if config.page is not None:
        Page(config.page, f"{_PROGRAM} {config.source}").write(text)
    print(config.out / "report.md")


def main(config: ReferencesConfig) -> int:
    """Runs a campaign and returns the exit status."""
    lines = Lines(config.out / "programs.jsonl")
    findings = Lines(config.out / "findings.jsonl")
    status = 0
    try:
        judge_programs(config, lines)
        if config.explain_seconds:
            explain_findings(config, lines, findings)
    except KeyboardInterrupt:
        status = INTERRUPTED
    write_report(config, lines.contents, map(from_json, findings.contents))
    return status


if __name__ == "__main__":
    prog = f"python -m tests.campaigns.{_PROGRAM}"
    sys.exit(main(tyro.cli(ReferencesConfig, prog=prog, description=__doc__)))
