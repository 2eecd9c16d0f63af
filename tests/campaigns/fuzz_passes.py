"""Walks random sequences of XLA passes over the corpus and reports every defect.

    python -m tests.campaigns.fuzz_passes --steps 1000000 --seed 0 --workers 2

Each step is checked: an error must leave the module unchanged, the verifier must accept every
change, and a pass that reports no change must make none. The same passes must lead to the same
module on a clone, on a fresh module and in another process. Workers are isolated: one that aborts,
hangs or takes too much memory is a finding, and the campaign continues. Ctrl-C ends it early, with
its report. The exit status is 1 if there are findings.
"""

import sys
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import tyro
from tqdm import tqdm

from hlograph.errors import WorkerLostError
from hlograph.isolation import WorkerLimits, WorkerPool
from hlograph.isolation.worker_process import MakeWorker
from tests.campaigns.framework.module_sets import select
from tests.campaigns.framework.tasks import INTERRUPTED, TaskQueue, progress
from tests.campaigns.passes.records import (
    CampaignResult,
    Finding,
    Kind,
    Visit,
    VisitResult,
    report_text,
)
from tests.campaigns.passes.walks import Plan, Visitor, replay_in_fresh_interpreter

FINDINGS = 1
"""Exit status of a campaign with findings."""

_LOST: dict[str, Kind] = {"timed_out": "time limit", "out_of_memory": "memory limit"}


@dataclass(frozen=True)
class PassFuzzConfig:
    """Settings of a campaign."""

    steps: int = 1_000_000
    """Pass calls of the walks; repetitions for the checks are not counted."""
    seed: int = 0
    """Seed of all randomness: two campaigns of one seed have the same walks."""
    workers: int = 2
    """Worker processes."""
    benchmarks: tuple[str, ...] = ("*", "small/*")
    """Globs over names of the corpus; small/* are the small modules of the tests."""
    op_limit: int | None = None
    """Modules with more instructions are left out."""
    pass_seconds: float = 60.0
    """A pass that takes longer is a finding."""
    memory_gib: float = 6.0
    """A worker that takes more resident memory is a finding."""
    fresh_replays: int = 100
    """Walks of each round that are repeated in a fresh interpreter."""
    out: Path | None = None
    """Folder of the report; by default a new one under runs/."""


class Campaign:
    """Campaign of random walks.

    Args:
        config: Its settings.
        folder: Folder of the report, which is written at each finding, after each round and at the
            end.
        make_worker: Makes the function that does a `Visit`.
    """

    def __init__(
        self, config: PassFuzzConfig, folder: Path, make_worker: MakeWorker = Visitor
    ) -> None:
        benchmarks = select(config.benchmarks, config.op_limit)
        self._config, self._folder, self._make_worker = config, folder, make_worker
        self._plan = Plan(benchmarks, config.seed)
        self.result = CampaignResult(config.seed, self._plan.seen, len(benchmarks))

    def run(self) -> CampaignResult:
        """Runs round after round until there are enough steps, or until Ctrl-C."""
        config, begin = self._config, time.monotonic()
        limits = WorkerLimits(
            seconds=config.pass_seconds, memory=int(config.memory_gib * (1 << 30))
        )
        try:
            with (
                WorkerPool(self._make_worker, config.workers, limits) as pool,
                progress(config.steps, "step") as bar,
            ):
                number, before = 0, -1
                # A round without a step, in which every visit was lost, would repeat for ever.
                while before < self.result.tally.steps < config.steps:
                    before = self.result.tally.steps
                    self._round(number, pool, bar)
                    self.result.seconds = time.monotonic() - begin
                    self.result.save(self._folder)
                    number += 1
        except KeyboardInterrupt:
            self.result.interrupted = True
        finally:
            self.result.seconds = time.monotonic() - begin
            self.result.save(self._folder)
        return self.result

    def _round(self, number: int, pool: WorkerPool, bar: tqdm) -> None:
        result = self.result
        queue = TaskQueue(self._plan.round(number))
        done: list[tuple[Visit, VisitResult]] = []
        for visit, answer in queue.run(pool):
            before = len(result.findings)
            if isinstance(answer, WorkerLostError):
                result.lost_workers += 1
                result.findings.append(_finding_of(answer, visit))
            else:
                self._add(visit, answer)
                done.append((visit, answer))
            if len(result.findings) > before:
                result.save(self._folder)
            bar.update(result.tally.steps - bar.n)
            bar.set_postfix(round=number, findings=len(result.findings))
            if result.tally.steps >= self._config.steps:
                queue.clear()
        fresh = self._plan.add_round(done)
        stride = max(1, len(fresh) // max(1, self._config.fresh_replays))
        findings, repeated = replay_in_fresh_interpreter(fresh[::stride])
        result.findings += findings
        result.tally.replays_elsewhere += repeated

    def _add(self, visit: Visit, answer: VisitResult) -> None:
        self.result.tally.add(answer.tally)
        self.result.findings += answer.findings
        self.result.visited[visit.benchmark] += 1
        self.result.heaps[answer.pid].append(answer.heap)


def _finding_of(lost: WorkerLostError, visit: Visit) -> Finding:
    """Returns the finding that the loss of a worker is, at the call that it had noted."""
    note = (lost.note or b"").decode("utf-8", "replace")
    benchmark, call, passes = [*note.split("\n"), "", ""][:3]
    text = f"{lost}, in {call or 'no noted call'}\n{lost.output}".strip()
    return Finding(lost_kind(lost), benchmark or visit.benchmark, tuple(passes.split()), text)


def lost_kind(lost: WorkerLostError) -> Kind:
    """Returns the kind of finding that the loss of a worker is."""
    return _LOST.get(lost.kind, "crash")


def fuzz(config: PassFuzzConfig) -> int:
    """Runs a campaign and prints its report.

    Returns:
        Exit status: 0 without findings, 1 with findings, 130 after Ctrl-C without findings.
    """
    now = datetime.now().strftime("%Y%m%d-%H%M%S")
    folder = config.out or Path("runs") / f"fuzz-seed{config.seed}-{now}"
    result = Campaign(config, folder).run()
    print(report_text(result))
    print(f"report.json and report.txt are in {folder}")
    if result.findings:
        return FINDINGS
    return INTERRUPTED if result.interrupted else 0


if __name__ == "__main__":
    prog = "python -m tests.campaigns.fuzz_passes"
    sys.exit(fuzz(tyro.cli(PassFuzzConfig, prog=prog, description=__doc__)))
