"""Applies rules for time to random programs, also to what other rules have built.

    python -m tests.campaigns.fuzz_forms --applications 100000 --seed 0 --workers 2

Each result must pass the verifier of XLA and keep the shape of the result; of some programs the
outputs are compared. A worker that ends is a finding. The exit status is 1 if there are findings.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tyro

from benchmarks.speed_rules.catalogue import PROGRAMS
from hlograph.errors import WorkerLostError
from hlograph.isolation import WorkerLimits, WorkerPool
from hlograph.storage.atomic_write import write_text_atomically
from tests.campaigns.forms.walks import Findings, Task, make_worker
from tests.campaigns.framework.tasks import INTERRUPTED, TaskQueue, progress


@dataclass(frozen=True)
class FormsFuzzConfig:
    """Settings of a campaign."""

    applications: int = 100_000
    """Number of applications after which no new programs are drawn."""
    compared: float = 0.02
    """Share of the programs whose outputs are compared, which takes most of the time."""
    programs: int = 10
    """Programs of one rule in a task of a worker; then the next rule has its turn."""
    walks: int = 8
    """Walks on each program, from one place to another by any rules."""
    rules: tuple[str, ...] = ()
    """Rules whose programs are drawn; none are all rules for time."""
    seed: int = 0
    """Seed of the programs and the walks."""
    workers: int = 2
    """Processes at a time."""
    out: Path = Path("runs/fuzz-forms")
    """Folder of what was found."""


def main(config: FormsFuzzConfig) -> int:
    """Runs a campaign and returns the exit status."""
    report, status = Findings(), 0
    queue: TaskQueue[Task] = TaskQueue()
    tasks = _tasks(config)
    for _ in range(config.workers + 1):
        queue.put(next(tasks))
    limits = WorkerLimits(seconds=600.0, idle_seconds=600.0, memory=8 << 30)
    pool = WorkerPool(make_worker, config.workers, limits, ("tests.campaigns.forms.walks",))
    with pool, progress(config.applications, "application") as bar:
        try:
            for task, answer in queue.run(pool):
                if isinstance(answer, WorkerLostError):
                    report.failures.append(f"{task}: {answer}\n{answer.note}")
                else:
                    report.add(answer)
                    bar.update(answer.applied.total())
                if report.applied.total() < config.applications:
                    queue.put(next(tasks))
        except KeyboardInterrupt:
            status = INTERRUPTED
    for number, failure in enumerate(report.failures):
        write_text_atomically(config.out / f"{config.seed}-{number}.txt", failure)
    print(f"seed {config.seed}")
    print(report.text())
    return 1 if report.failures else status


def _tasks(config: FormsFuzzConfig) -> Iterator[Task]:
    """Yields tasks without end, the rules in turns."""
    due = 0.0
    for number in itertools.count():
        for rule in config.rules or PROGRAMS:
            seed = config.seed * 1_000_003 + number
            due += config.programs * config.compared
            compared, due = int(due), due % 1
            yield Task(rule, seed, config.programs, config.walks, compared)


if __name__ == "__main__":
    prog = "python -m tests.campaigns.fuzz_forms"
    sys.exit(main(tyro.cli(FormsFuzzConfig, prog=prog, description=__doc__)))
