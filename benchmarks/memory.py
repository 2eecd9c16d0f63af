"""Measures peak memory against the size of the module."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks.labels import BYTES, EXPONENT
from benchmarks.progress import tracked
from benchmarks.results import Aim, Figure
from benchmarks.settings import Settings
from benchmarks.timing import exponent as fitted
from hlograph.errors import HloError
from hlograph.execution.bootstrap import Interval

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
            found = Interval.quartiles(run[name] for run in runs)
            medians.setdefault(label, []).append(found.value)
            yield Figure.of(label, f"{size:,}", found, "MiB")
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
    command = [sys.executable, "-m", "benchmarks.peak_memory", str(size)]
    root = Path(__file__).parent.parent
    done = subprocess.run(command, capture_output=True, text=True, cwd=root)
    if done.returncode:
        raise HloError(f"benchmarks.peak_memory {size} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])
