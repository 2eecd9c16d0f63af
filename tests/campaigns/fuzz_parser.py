"""Gives hlograph.parse damaged modules, which must end in a graph or in a HloParseError.

    python -m tests.campaigns.fuzz_parser --inputs 100000 --seed 0

Inputs are parsed in worker processes, so that an input which ends its process ends nothing else. An
input that ends its process, takes too long or raises another exception is saved. The report says if
it ended a fresh process. Ctrl-C ends the campaign early, with its report. The exit status is 1 if
there are such inputs.
"""

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import tyro
from tqdm import tqdm

import hlograph
from hlograph.isolation import WorkerLimits, WorkerPool
from hlograph.storage.atomic_write import write_bytes_atomically
from tests.campaigns.framework.tasks import INTERRUPTED, progress
from tests.campaigns.parsing.inputs import KINDS, Inputs
from tests.campaigns.parsing.trials import Outcome, make_worker, outcomes_of

_GIB = 1 << 30


@dataclass(frozen=True)
class ParserFuzzConfig:
    """Settings of a campaign."""

    inputs: int = 100_000
    """Number of damaged modules to parse."""
    seed: int = 0
    """Seed of the damage: the same seed gives the same inputs."""
    first: int = 0
    """Number of the first input, to parse some again."""
    workers: int = 1
    """Processes at a time."""
    seconds: float = 60.0
    """Time limit of one input."""
    memory_gib: float = 6.0
    """Memory limit of one process, beyond what it begins with."""
    out: Path = Path("runs/fuzz-parser")
    """Folder for the inputs that failed."""


@dataclass
class ParserReport:
    """Outcomes of all inputs."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of inputs by kind and outcome."""
    failures: list[str] = field(default_factory=list)
    memory: int = 0
    slowest: float = 0.0

    def add(self, outcome: Outcome) -> None:
        """Counts one input."""
        self.counts[outcome.kind, outcome.verdict] += 1
        self.memory = max(self.memory, outcome.memory)
        self.slowest = max(self.slowest, outcome.seconds)
        if not outcome.is_good:
            self.failures.append(
                f"input {outcome.number} ({outcome.kind}): {outcome.verdict}: {outcome.detail}"
            )

    def text(self) -> str:
        """Returns a table by kind and outcome, totals and the failures."""
        outcomes = sorted({verdict for _, verdict in self.counts})
        rows: list[tuple[object, ...]] = [("kind", "inputs", *outcomes)]
        for kind in KINDS:
            counts = [self.counts[kind, verdict] for verdict in outcomes]
            rows.append((kind, sum(counts), *counts))
        rows.append(("all", *(sum(column) for column in list(zip(*rows[1:], strict=True))[1:])))
        lines = ["  ".join(f"{cell:>14}" for cell in row) for row in rows]
        lines.append(
            f"slowest input: {self.slowest:.1f} s; "
            f"most memory of a process: {self.memory / _GIB:.2f} GiB"
        )
        return "\n".join(lines + self.failures)


def main(config: ParserFuzzConfig, parse: Callable[[bytes], object] = hlograph.parse) -> int:
    """Runs a campaign of a parser and returns the exit status."""
    inputs, report, status = Inputs(config.seed), ParserReport(), 0
    memory = int(config.memory_gib * _GIB)
    numbers = range(config.first, config.first + config.inputs)
    worker = partial(make_worker, inputs, parse, memory)
    limits = WorkerLimits(config.seconds, memory=memory)
    with WorkerPool(worker, config.workers, limits) as pool, progress(len(numbers), "input") as bar:
        try:
            for outcome in outcomes_of(numbers, inputs, pool):
                report.add(outcome)
                bar.update()
                if not outcome.is_good:
                    _save(config, outcome, inputs[outcome.number].data)
        except KeyboardInterrupt:
            status = INTERRUPTED
    print(f"seed {config.seed}, {report.counts.total()} of {config.inputs} inputs")
    print(report.text())
    return 1 if report.failures else status


def _save(config: ParserFuzzConfig, outcome: Outcome, data: bytes) -> None:
    path = config.out / f"{config.seed}-{outcome.number}-{outcome.verdict}.{outcome.kind}"
    write_bytes_atomically(path, data)
    tqdm.write(f"{path}: {outcome.detail}")


if __name__ == "__main__":
    prog = "python -m tests.campaigns.fuzz_parser"
    sys.exit(main(tyro.cli(ParserFuzzConfig, prog=prog, description=__doc__)))
