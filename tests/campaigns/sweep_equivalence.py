"""Runs every pass on every module and compares what comes of it with the original.

    python -m tests.campaigns.sweep_equivalence --max-ops 300 --out runs/equivalence
    python -m tests.campaigns.sweep_equivalence --benchmarks 'gpt2/*' --passes algsimp cse

Modules are taken smallest first, each in a worker process that may be lost. Results are
appended to `results.jsonl` in the folder, one line for each module, and modules that are in it
already are not run again: the same command continues where it was stopped. Ends with tables by
pass, in `report.md` there and, with --page, in a page of its own.
"""

from __future__ import annotations

import fnmatch
import json
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tyro
from tqdm import tqdm

import hlograph
from hlograph import corpus
from hlograph.errors import WorkerLostError
from hlograph.isolation import Limits, make_pool
from hlograph.storage.atomic_write import write_text_atomically
from tests.campaigns.equivalence.module import (
    PIPELINES,
    ModuleTask,
    SetResult,
    check_names,
    failure,
    make_worker,
)
from tests.campaigns.equivalence.report import write_report


@dataclass(frozen=True)
class SweepConfig:
    """Settings of the sweep."""

    out: Path = Path("runs/equivalence")
    """Folder of the results; a sweep found in it is continued."""
    benchmarks: tuple[str, ...] = ("*",)
    """Globs over names of the corpus."""
    passes: tuple[str, ...] = ()
    """Passes and pipelines (pipeline:NAME); none is every pass and both reference pipelines."""
    prepare: tuple[str, ...] = ()
    """Passes that run first; what they make is the original."""
    max_ops: int = 1_000
    """Modules with more instructions are left out."""
    compile_ops: int = 200
    """Up to so many instructions, what pipelines make is also compiled, and what the reference
    evaluator cannot run."""
    samples: int = 1
    """Random inputs for each module."""
    seed: int = 0
    """Seed of the inputs."""
    max_seconds: float = 60.0
    """Longest time of one pass or one comparison; then the worker is replaced."""
    max_memory: int = 8 << 30
    """Resident bytes of a worker."""
    workers: int = 1
    """Worker processes; 0 works in this one, for debugging."""
    time_limit: float = float("inf")
    """Seconds after which no further module is begun."""
    page: Path | None = None
    """Markdown file to write the report to, besides report.md in the folder."""


class Sweep:
    """A sweep and its results so far.

    Args:
        config: Settings.
    """

    def __init__(self, config: SweepConfig) -> None:
        self._config = config
        self._results = config.out / "results.jsonl"
        names = config.passes or (
            *hlograph.passes.names,
            *(f"pipeline:{name}" for name in PIPELINES),
        )
        check_names(names)
        self._template = ModuleTask(
            benchmark="",
            passes=names,
            compile_ops=config.compile_ops,
            samples=config.samples,
            seed=config.seed,
            seconds=config.max_seconds,
            prepare=config.prepare,
        )
        self._lost: dict[str, list[SetResult]] = {}
        self._again: deque[str] = deque()

    def run(self) -> None:
        """Runs what is missing, then writes the report."""
        self._config.out.mkdir(parents=True, exist_ok=True)
        lines = self.lines()
        # Without a line that was cut off, which the next would be appended to.
        write_text_atomically(self._results, "".join(json.dumps(line) + "\n" for line in lines))
        done = {line["benchmark"] for line in lines}
        benchmarks = [b for b in self._chosen() if b.name not in done]
        self._sizes = {benchmark.name: benchmark.op_count for benchmark in benchmarks}
        limits = Limits(
            seconds=self._config.max_seconds,
            idle_seconds=10 * self._config.max_seconds,
            memory=self._config.max_memory,
        )
        self._sent: list[str] = []
        with (
            make_pool(make_worker, self._config.workers, limits) as pool,
            tqdm(total=len(benchmarks), unit="module") as bar,
        ):
            for number, answer in pool.map(self._tasks(list(self._sizes))):
                bar.update(self._take(self._sent[number], answer))
        self.report()

    def lines(self) -> list[dict[str, Any]]:
        """Returns the results so far, one object for each module."""
        if not self._results.exists():
            return []
        # What follows the last end of line was cut off as the process ended.
        whole = self._results.read_text(encoding="utf-8").rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    def report(self) -> None:
        """Writes the tables of what there is."""
        text = write_report(self.lines(), self._config)
        for path in filter(None, (self._config.out / "report.md", self._config.page)):
            write_text_atomically(path, text)

    def _chosen(self) -> list[corpus.Benchmark]:
        chosen = [
            benchmark
            for benchmark in corpus.load(max_op_count=self._config.max_ops)
            if any(fnmatch.fnmatch(benchmark.name, glob) for glob in self._config.benchmarks)
        ]
        return sorted(chosen, key=lambda benchmark: (benchmark.op_count, benchmark.name))

    def _tasks(self, names: list[str]) -> Iterator[ModuleTask]:
        end = time.monotonic() + self._config.time_limit
        waiting = iter(names)
        while time.monotonic() < end:
            name = self._again.popleft() if self._again else next(waiting, None)
            if name is None:
                return
            self._sent.append(name)
            known = {result["pass"] for result in self._lost.get(name, ())}
            passes = tuple(p for p in self._template.passes if p not in known)
            yield replace(self._template, benchmark=name, passes=passes)

    def _take(self, name: str, answer: list[SetResult] | WorkerLostError) -> int:
        """Keeps a worker's answer; returns how many modules are done with it."""
        lost = self._lost.setdefault(name, [])
        if isinstance(answer, WorkerLostError):
            note = (answer.note or b"").decode().split(" ")[0]
            blamed = note if note in self._template.passes else ""
            lost.append(failure(blamed, answer, answer.kind))
            if blamed:  # all but this pass
                self._again.append(name)
                return 0
            answer = []
        line = {
            "benchmark": name,
            "op_count": self._sizes[name],
            "prepare": list(self._config.prepare),
            "results": [*answer, *lost],
        }
        with self._results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        return 1


def main() -> None:
    """Runs the sweep."""
    config = tyro.cli(
        SweepConfig, prog="python -m tests.campaigns.sweep_equivalence", description=__doc__
    )
    Sweep(config).run()
    print(config.out / "report.md")


if __name__ == "__main__":
    main()
