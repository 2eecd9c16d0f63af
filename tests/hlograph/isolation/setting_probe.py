"""Reads what a process sees of its setting. Workers import this module."""

import os
from pathlib import Path
from typing import Any

from hlograph.execution.process_memory import keeps_freed_memory
from hlograph.isolation import FlightRecorder, Remote, SideProcess, WorkerLimits


def seen() -> dict[str, Any]:
    """Returns the setting of this process, as jax, Linux and the C library have it."""
    import jax

    at_start = Path("/proc/self/environ").read_bytes().split(b"\0")
    return {
        "cpus": sorted(os.sched_getaffinity(0)),
        "devices": len(jax.devices("cpu")),
        "async": jax.config.values["jax_cpu_enable_async_dispatch"],
        "keeps": keeps_freed_memory(),
        "environment": {name: os.environ.get(name) for name in ("HLOGRAPH_PROBE", "XLA_FLAGS")},
        "malloc": sorted(entry.decode() for entry in at_start if entry.startswith(b"MALLOC_")),
    }


class Probe:
    """Says what its process sees."""

    def __init__(self, recorder: FlightRecorder) -> None:
        del recorder

    def seen(self) -> dict[str, Any]:
        """Returns the setting of its process."""
        return seen()


def seen_by_worker() -> dict[str, Any]:
    """Returns what a worker sees."""
    remote = Remote(Probe, WorkerLimits())
    try:
        return remote.call(Probe.seen)
    finally:
        remote.close()


def _all_seen():
    yield seen()
    yield seen_by_worker()


def seen_by_side_process() -> list[dict[str, Any]]:
    """Returns what a side process sees, and what a worker of it does."""
    import pickle

    return list(SideProcess(pickle.dumps(_all_seen)).answers())
