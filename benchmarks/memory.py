"""Measures peak memory against the size of the module.

    python -m benchmarks.memory INSTRUCTIONS

The program parses, graphs and steps one synthetic module, and prints the peaks. Each size has a
process of its own: memory that was freed before would hide what is taken now.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil

import hlograph
from benchmarks.results import BYTES, EXPONENT, Aim, Figure
from benchmarks.settings import Settings
from benchmarks.subjects import chain
from benchmarks.timing import exponent as fitted
from benchmarks.timing import tracked
from envs import PassOrderingEnv
from hlograph.errors import HloError
from hlograph.execution.bootstrap import Interval
from hlograph.module import Module

_STATUS = Path("/proc/self/status")
_PEAK, _NOW = "VmHWM", "VmRSS"

TITLE = "Peak memory"
LINEAR = Aim(1.1)
"""Exponent of a growth that counts as linear."""
_MOST_BYTES = 12_000
"""Upper bound of the peak memory of one instruction, its text included."""
_LABELS = {
    "parse": "parse to a module",
    "graph": "its graph beside it",
    "steps": "an environment that steps on it",
}


def measure(settings: Settings) -> Iterator[Figure]:
    """Runs a process for each size, several times, and fits."""
    sizes = sizes_to(settings.growth_limit)
    medians: dict[str, list[float]] = {}
    for size in tracked(sizes):
        runs = [peaks_of(size) for _ in range(max(1, settings.rounds // 4))]
        for name, label in _LABELS.items():
            peak = Interval.quartiles(run[name] for run in runs)
            medians.setdefault(label, []).append(peak.value)
            yield Figure.of(label, f"{size:,}", peak, "MiB")
        per_instruction = Interval.quartiles(run["steps"] * 2**20 / size for run in runs)
        yield Figure.of(BYTES, f"{size:,}", per_instruction, "B")
    # Below 10,000 instructions it is pages and arenas that are counted, not instructions.
    large = [number for number, size in enumerate(sizes) if size >= 10_000]
    if len(large) > 1:
        for label, values in medians.items():
            slope = fitted([sizes[n] for n in large], [values[n] for n in large])
            yield Figure.of(label, EXPONENT, slope, "", LINEAR)


def subjects(settings: Settings) -> dict[str, str]:
    """Describes the columns."""
    return {
        "all": "a new process for each; MiB beyond what it takes with all loaded and the text in "
        "memory; exponents from 10,000 instructions on",
    }


def sizes_to(largest: int) -> list[int]:
    """Returns the powers of ten from 1,000 to at most `largest`."""
    return [10**power for power in range(3, 10) if 10**power <= largest]


def peaks_of(size: int) -> dict[str, float]:
    """Returns the peak MiB of each stage of one new process.

    Raises:
        HloError: The machine has not the memory, or the process failed.
    """
    needed, available = size * _MOST_BYTES, psutil.virtual_memory().available
    if needed > available:
        raise HloError(
            f"a module of {size:,} instructions may take {needed >> 20:,} MiB, there are "
            f"{available >> 20:,}; lower --growth-limit"
        )
    command = [sys.executable, "-m", "benchmarks.memory", str(size)]
    root = Path(__file__).parent.parent
    done = subprocess.run(command, capture_output=True, text=True, cwd=root)
    if done.returncode:
        raise HloError(f"benchmarks.memory {size} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _status(line: str) -> float:
    """Returns the MiB in one line of the process's status."""
    for text in _STATUS.read_text(encoding="ascii").splitlines():
        name, _, value = text.partition(":")
        if name == line:
            return int(value.split()[0]) / 1024
    raise HloError(f"expected a line {line} in {_STATUS}; this needs Linux")


def peaks(instructions: int) -> dict[str, float]:
    """Returns peak MiB beyond those of the process before it has a module.

    Returns:
        `parse`: highest by the time that the module is there; `graph`: that its graph is there,
        too; `steps`: that an environment has stepped on it.
    """
    _step(Module.from_text(chain(100)))  # loads all that is loaded on first use
    text = chain(instructions)
    before = _status(_NOW)
    highest = {}
    module = Module.from_text(text)
    highest["parse"] = _status(_PEAK) - before
    graph = module.graph()
    highest["graph"] = _status(_PEAK) - before
    _step(module)
    highest["steps"] = _status(_PEAK) - before
    assert graph.num_nodes >= instructions
    return highest


def _step(module: Module) -> None:
    env = PassOrderingEnv(module, observation="graph", costs=False)
    env.reset(seed=0)
    for name in ("dce", "algsimp", "cse", "tuple-simplifier"):
        env.step(hlograph.passes.names.index(name))


if __name__ == "__main__":
    print(json.dumps(peaks(int(sys.argv[1]))))
