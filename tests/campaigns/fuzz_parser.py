"""Gives hlograph.parse damaged modules, which must end in a graph or in a HloParseError.

    python -m tests.campaigns.fuzz_parser --inputs 100000 --seed 0

Inputs are parsed in processes forked for some hundreds of them each, so that what ends one ends
nothing else. A process parses until XLA aborted in it, for what follows then is parsed in yet
another process (hlograph/reading/isolated_parser.py) and would show nothing of XLA's parser; every
20th goes on, which shows that one can. An input that ends its process, takes too long, or raises
anything else is saved; ended processes are told by whether the input does it in a fresh one too.
The exit status is 1 if there was any.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import tyro
from tqdm import tqdm

from hlograph.storage.atomic_write import write_bytes_atomically
from tests.campaigns.parsing.inputs import KINDS, Inputs
from tests.campaigns.parsing.trials import Limits, Outcome, Trials

_GIB = 1 << 30


@dataclass(frozen=True)
class Config:
    """Settings of a campaign."""

    inputs: int = 100_000
    """Damaged modules to parse."""
    seed: int = 0
    """Of the damage: the same seed gives the same inputs."""
    first: int = 0
    """Number of the first input, to look at some again."""
    workers: int = 1
    """Processes at a time."""
    seconds: float = 60.0
    """What one input may take, on a machine that does other things as well."""
    memory_gib: float = 6.0
    """What one process may take beyond what it begins with."""
    out: Path = Path("runs/fuzz-parser")
    """Folder for the inputs that failed."""


@dataclass
class Report:
    """What became of the inputs."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Inputs by kind and outcome."""
    failures: list[str] = field(default_factory=list)
    aborts: int = 0
    memory: int = 0
    slowest: float = 0.0

    def add(self, outcome: Outcome) -> None:
        """Counts one input."""
        self.counts[outcome.kind, outcome.what] += 1
        self.aborts += outcome.aborted
        self.memory = max(self.memory, outcome.memory)
        self.slowest = max(self.slowest, outcome.seconds)
        if not outcome.is_good:
            self.failures.append(
                f"input {outcome.number} ({outcome.kind}): {outcome.what}: {outcome.detail}"
            )

    def text(self) -> str:
        """The report as a table and what is to be said of it."""
        outcomes = sorted({what for _, what in self.counts})
        lines = ["  ".join(f"{word:>14}" for word in ("kind", "inputs", *outcomes))]
        for kind in (*KINDS, "all"):
            row = [
                sum(n for (k, w), n in self.counts.items() if kind in (k, "all") and w == what)
                for what in outcomes
            ]
            lines.append("  ".join(f"{cell:>14}" for cell in (kind, sum(row), *row)))
        lines.append(
            f"aborts of XLA survived: {self.aborts}; slowest input: {self.slowest:.1f} s; "
            f"most memory of a process: {self.memory / _GIB:.2f} GiB"
        )
        return "\n".join(lines + self.failures)


def main(config: Config) -> int:
    """Runs a campaign and returns the exit status."""
    inputs = Inputs(config.seed)
    limits = Limits(config.seconds, int(config.memory_gib * _GIB))
    report = Report()
    trials = Trials(inputs, limits, config.workers)
    numbers = range(config.first, config.first + config.inputs)
    tqdm.monitor_interval = 0  # its thread would not survive the forks
    for outcome in tqdm(trials.run(numbers), total=len(numbers), unit="input", smoothing=0.01):
        report.add(outcome)
        if not outcome.is_good:
            _save(config, outcome, inputs[outcome.number].data)
    print(f"seed {config.seed}, {config.inputs} inputs")
    print(report.text())
    return 1 if report.failures else 0


def _save(config: Config, outcome: Outcome, data: bytes) -> None:
    path = config.out / f"{config.seed}-{outcome.number}-{outcome.what}.{outcome.kind}"
    write_bytes_atomically(path, data)
    tqdm.write(f"{path}: {outcome.detail}")


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Config, description=__doc__)))
