"""Walks random sequences of XLA passes over the corpus and reports every defect.

    python -m tests.campaigns.fuzz_passes --steps 1000000 --seed 0 --workers 2

Each step is checked: errors must leave the module as it was, the verifier must accept it, what
reports no change must make none, and the same passes must lead to the same module on a clone, on
a fresh module and in another process. Workers are isolated: one that aborts, hangs or eats up
memory is a finding, and the campaign goes on. Ctrl-C ends it early, with its report. The exit
status is 1 when there are findings.
"""

import fnmatch
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import tyro
from tqdm import tqdm

from hlograph import corpus
from hlograph.errors import WorkerLostError
from hlograph.isolation import Limits, WorkerPool
from hlograph.isolation.worker_process import MakeWorker
from tests.campaigns.fuzz_replay import replay_in_fresh_interpreter
from tests.campaigns.passes.plan import Plan
from tests.campaigns.passes.records import Finding, Kind, Visit, VisitResult
from tests.campaigns.passes.report import CampaignResult, report_text, save
from tests.campaigns.passes.walks import Visitor

FINDINGS, INTERRUPTED = 1, 130
"""Exit statuses: with findings; stopped by Ctrl-C without any."""

_LOST: dict[str, Kind] = {"timed_out": "time limit", "out_of_memory": "memory limit"}


@dataclass(frozen=True)
class FuzzConfig:
    """Settings of a campaign."""

    steps: int = 1_000_000
    """Pass calls of the walks; repetitions for the checks are not counted."""
    seed: int = 0
    """Seed of everything random: two campaigns of one seed walk the same walks."""
    workers: int = 2
    """Worker processes."""
    benchmarks: tuple[str, ...] = ("*",)
    """Globs over names of the corpus."""
    op_limit: int | None = None
    """Benchmarks with more instructions are left out."""
    pass_seconds: float = 60.0
    """A pass that takes longer is a finding."""
    memory_gib: float = 6.0
    """A worker that takes more resident memory is a finding."""
    fresh_replays: int = 100
    """Walks of each round that are repeated in a fresh interpreter."""
    out: Path | None = None
    """Folder of the report; by default a new one under runs/."""


class Campaign:
    """Runs a campaign.

    Args:
        config: Its settings.
        folder: Where the report is written: at each finding, after each round and at the end.
        make_worker: Makes what does the visits.
    """

    def __init__(self, config: FuzzConfig, folder: Path, make_worker: MakeWorker = Visitor) -> None:
        benchmarks = [
            benchmark
            for benchmark in corpus.load(max_op_count=config.op_limit)
            if any(fnmatch.fnmatchcase(benchmark.name, glob) for glob in config.benchmarks)
        ]
        if not benchmarks:
            raise SystemExit(f"--benchmarks: no module of the corpus is called {config.benchmarks}")
        self._config, self._folder, self._make_worker = config, folder, make_worker
        self._plan = Plan(benchmarks, config.seed)
        self.result = CampaignResult(
            config.seed, coverage=self._plan.coverage, benchmarks=len(benchmarks)
        )

    def run(self) -> CampaignResult:
        """Goes on round by round until there are enough steps, or Ctrl-C."""
        config, began = self._config, time.monotonic()
        limits = Limits(seconds=config.pass_seconds, memory=int(config.memory_gib * (1 << 30)))
        bar = tqdm(total=config.steps, unit="step", smoothing=0.05)
        try:
            with WorkerPool(self._make_worker, config.workers, limits) as pool:
                number, before = 0, -1
                # A round without a step, since every visit was lost, would go on for ever.
                while before < self.result.tally.steps < config.steps:
                    before = self.result.tally.steps
                    self._round(number, pool, bar)
                    self.result.seconds = time.monotonic() - began
                    save(self.result, self._folder)
                    number += 1
        except KeyboardInterrupt:
            self.result.interrupted = True
        finally:
            bar.close()
            self.result.seconds = time.monotonic() - began
            save(self.result, self._folder)
        return self.result

    def _round(self, number: int, pool: WorkerPool, bar: tqdm) -> None:
        issued: list[Visit] = []
        done: list[tuple[Visit, VisitResult]] = []
        for index, result in pool.map(self._issue(number, issued)):
            visit, before = issued[index], len(self.result.findings)
            if isinstance(result, WorkerLostError):
                self._add_lost(visit, result)
            else:
                self._add(visit, result)
                done.append((visit, result))
            if len(self.result.findings) > before:
                save(self.result, self._folder)
            bar.update(self.result.tally.steps - bar.n)
            bar.set_postfix(round=number, findings=len(self.result.findings))
        fresh = self._plan.add_round(done)
        stride = max(1, len(fresh) // max(1, self._config.fresh_replays))
        findings, repeated = replay_in_fresh_interpreter(fresh[::stride])
        self.result.findings += findings
        self.result.tally.other_process += repeated

    def _issue(self, number: int, issued: list[Visit]) -> Iterator[Visit]:
        for visit in self._plan.round(number):
            if self.result.tally.steps >= self._config.steps:
                return
            issued.append(visit)
            yield visit

    def _add(self, visit: Visit, result: VisitResult) -> None:
        total = self.result
        total.tally.add(result.tally)
        total.findings += result.findings
        total.visited[visit.benchmark] += 1
        total.heaps[result.pid].add(result.heap)
        for name, count in result.probed.items():
            total.probed[name] += count

    def _add_lost(self, visit: Visit, lost: WorkerLostError) -> None:
        """The death of a worker is a finding at the call that it had noted."""
        self.result.lost_workers += 1
        note = (lost.note or b"").decode("utf-8", "replace")
        benchmark, what, passes = [*note.split("\n"), "", ""][:3]
        text = f"{lost}, in {what or 'no noted call'}\n{lost.output}".strip()
        benchmark = benchmark or visit.benchmark
        finding = Finding(lost_kind(lost), benchmark, tuple(passes.split()), text)
        self.result.findings.append(finding)


def lost_kind(lost: WorkerLostError) -> Kind:
    """The kind of finding that the loss of a worker is."""
    return _LOST.get(lost.kind, "crash")


def fuzz(config: FuzzConfig) -> int:
    """Runs a campaign and shows its report.

    Returns:
        Exit status: 0 without findings, 1 with, 130 after Ctrl-C without.
    """
    time_now = datetime.now().strftime("%Y%m%d-%H%M%S")
    folder = config.out or Path("runs") / f"fuzz-seed{config.seed}-{time_now}"
    result = Campaign(replace(config, out=folder), folder).run()
    print(report_text(result))
    print(f"report.json and report.txt are in {folder}")
    if result.findings:
        return FINDINGS
    return INTERRUPTED if result.interrupted else 0


if __name__ == "__main__":
    sys.exit(
        fuzz(
            tyro.cli(FuzzConfig, prog="python -m tests.campaigns.fuzz_passes", description=__doc__)
        )
    )
