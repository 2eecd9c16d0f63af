"""Applies rules for time to random programs, also to what other rules have built.

    python -m tests.campaigns.fuzz_forms --applications 100000 --seed 0 --workers 2

Each result must pass the verifier of XLA and keep the shape of the result; of some programs the
outputs are compared. A worker that ends is a finding. The exit status is 1 if there are findings.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import tyro

import hlograph
from benchmarks.speed_rules.catalogue import KERNELS, PROGRAMS
from hlograph import Module
from hlograph.errors import HloError, HloParseError, WorkerLostError
from hlograph.isolation import FlightRecorder, WorkerLimits, WorkerPool
from hlograph.plans.native_kernels import PREFIX
from hlograph.storage.atomic_write import write_text_atomically
from tests.campaigns.framework.tasks import INTERRUPTED, TaskQueue, progress
from tests.hlograph.transforms.kernels.kernel_checks import kernel_verdicts

_DRAWN = {**PROGRAMS, **KERNELS}
_STEPS = 8

# A walk ends at a module of more instructions, such as one with unrolled loops, which takes as long
# as many small ones.
_LARGE = 300


@dataclass(frozen=True)
class Task:
    """Programs of one rule, drawn with one seed.

    Attributes:
        rule: Name of the rule.
        seed: Seed of the programs and of the walks.
        programs: Number of programs.
        walks: Number of walks on each program. To draw a program takes longer than some walks.
        compared: Number of programs for which the result of a walk is compared with the original.
    """

    rule: str
    seed: int
    programs: int
    walks: int
    compared: int


@dataclass
class Findings:
    """Counts and failures of a task, or of a whole campaign.

    Attributes:
        applied: Number of applications by rule.
        compared: Number of comparisons by verdict.
        failures: What went wrong, with the program.
    """

    applied: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, other: Findings) -> None:
        """Adds other findings to these."""
        self.applied += other.applied
        self.compared += other.compared
        self.failures += other.failures

    def text(self) -> str:
        """Returns a table by rule, the verdicts and the number of failures."""
        rows = [f"{rule:36} {self.applied[rule]:>8}" for rule in _DRAWN]
        verdicts = ", ".join(f"{number} {verdict}" for verdict, number in self.compared.items())
        total = f"{self.applied.total()} applications; compared: {verdicts or 'none'}"
        return "\n".join([*rows, total, f"{len(self.failures)} failures"])


def make_worker(recorder: FlightRecorder) -> Callable[[Task], Findings]:
    """Returns the function that performs a task in a worker."""

    def perform(task: Task) -> Findings:
        findings = Findings()
        rng = random.Random(task.seed)
        for number in range(task.programs):
            try:
                text = _DRAWN[task.rule](rng)
            except HloParseError:  # on a busy machine, a program is not read within its time
                continue
            recorder.begin(f"{task}\n{text}".encode()[:60_000])
            try:
                for walk in range(task.walks):
                    compare = walk == 0 and number < task.compared
                    _walk(text, task.rule, rng, findings, compare=compare)
            finally:
                recorder.end()
        return findings

    return perform


def _walk(text: str, rule: str, rng: random.Random, findings: Findings, *, compare: bool) -> None:
    """Applies the rule somewhere, then any rules for time, and checks each result."""
    original = Module.from_text(text)
    module = original.clone()
    exact, names = True, [rule]
    for _ in range(_STEPS):
        rewrites = module.rewrites(names)
        names = list(_DRAWN)  # later steps take any rule, so that rules meet what others built
        if not rewrites or module.op_count > _LARGE:
            break
        rewrite = rng.choice(rewrites)
        try:
            module.apply(rewrite)
            module.verify()
        except HloError as error:
            findings.failures.append(f"{rewrite.place}: {error}\n{text}")
            return
        findings.applied[rewrite.rule] += 1
        exact &= hlograph.rules[rewrite.rule].exact
        if _result_of(module) != _result_of(original):
            findings.failures.append(f"{rewrite.place} changed the shape of the result\n{text}")
            return
    if compare:
        for verdict, reason in _compared(module, original, exact=exact):
            findings.compared[verdict] += 1
            if verdict == "different" or (exact and verdict == "close"):
                findings.failures.append(f"{names}: {verdict}: {reason}\n{text}")


def _compared(module: Module, original: Module, *, exact: bool) -> list[tuple[str, str]]:
    """Returns verdicts with reasons; jaxlib runs a module with native kernels."""
    if PREFIX in module.to_text():
        try:
            verdicts = kernel_verdicts(module, original, special=exact)
        except HloError as error:
            return [("not comparable", str(error))]
        return [(verdict, "by jaxlib") for verdict in verdicts]
    result = module.equivalent_to(original)
    return [(result.verdict, result.reason)]


def _result_of(module: Module) -> str:
    """Returns the shapes of the program's parameters and result, without layouts."""
    return module.to_text().partition("entry_computation_layout=")[2].partition("\n")[0]


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
    """Rules whose programs are drawn; none are all rules for time and of kernels."""
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
    pool = WorkerPool(make_worker, config.workers, limits, ("tests.campaigns.fuzz_forms",))
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
        for rule in config.rules or _DRAWN:
            seed = config.seed * 1_000_003 + number
            due += config.programs * config.compared
            compared, due = int(due), due % 1
            yield Task(rule, seed, config.programs, config.walks, compared)


if __name__ == "__main__":
    prog = "python -m tests.campaigns.fuzz_forms"
    sys.exit(main(tyro.cli(FormsFuzzConfig, prog=prog, description=__doc__)))
