"""Defines the settings, and prepares the process before torch and jax are imported."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from hlograph.errors import HloError


@dataclass(frozen=True)
class Settings:
    """Settings of a run."""

    out: Path
    """File of results (CSV); a table is written beside it with the suffix .md."""
    programs: tuple[str, ...] = ()
    """Names of the set `speed`; all that have a version in PyTorch by default."""
    rounds: int = 15
    """Rounds at most; in each, every library runs once."""
    budget: float = 5.0
    """Seconds after which no round of a program begins; there are at least two."""
    compile: bool = True
    """Measure `torch.compile`, too, which needs g++."""
    search: float = 0.0
    """Seconds of a search for a plan of each program, which is then measured, too; 0 searches for
    none. Plans are kept in a folder beside the file of results."""
    threads: int = 2
    """Threads of each library, and cores that the process stays on."""
    sample_seconds: float = 0.02
    """Approximate duration of one measurement; short programs run several times in it."""
    pause: float = 0.02
    """Seconds of rest before a measurement, in which the other library's threads fall asleep."""
    seed: int = 0
    """Seed of the inputs."""


def prepare_process(settings: Settings, cache: Path) -> None:
    """Keeps the process on as many cores as threads, and gives inductor an empty cache.

    Args:
        settings: Settings of the run.
        cache: An empty folder, so that no compilation is taken from an earlier run.

    Raises:
        HloError: The process may not use that many cores.
    """
    use_cores(settings.threads)
    os.environ["OMP_NUM_THREADS"] = str(settings.threads)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(cache)


def use_cores(threads: int) -> None:
    """Keeps the process, and those that it starts, on as many cores as threads.

    XLA takes the number of its threads from the cores that a process may use when it starts.

    Raises:
        HloError: The process may not use that many cores.
    """
    cores = sorted(os.sched_getaffinity(0))
    if not 1 <= threads <= len(cores):
        raise HloError(
            f"expected 1 to {len(cores)} threads, as the process may use so many cores, "
            f"got {threads}: give --threads another number"
        )
    os.sched_setaffinity(0, cores[:threads])
