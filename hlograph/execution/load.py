"""Measures the load of the machine: time that others take from the threads of this process.

Runs in turns meet the same speed of the clock, but not the same load. Another program on one of two
CPUs slows what runs on both, and leaves alone what runs on one.
"""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

LOADED = 0.1
"""Load above which the machine counts as busy."""

# Linux lets a thread run for about this long before another one that waits, in nanoseconds.
_SLICE = 3_000_000


class Reading(NamedTuple):
    """Counts of the system for this process up to a moment.

    Attributes:
        time: The moment, in nanoseconds.
        ran: CPU time of all threads, in nanoseconds.
        waited: Time that threads waited for a CPU while they could have run, in nanoseconds.
        throttled: Time that its control group was stopped as it had used up its quota, in
            nanoseconds.
        cpus: Number of CPUs that it may use.
        idle: Time that these CPUs had nothing to run, all together, in nanoseconds, which the
            system counts in steps of some milliseconds; None if it does not say.
    """

    time: int
    ran: int
    waited: int
    throttled: int
    cpus: int
    idle: int | None = None

    def load_until(self, later: Reading) -> float:
        """Returns the load between two readings, from 0 to 1; see ``loads_of``."""
        return float(loads_of([CpuTimes.of(self, later)])[0])


class CpuTimes(NamedTuple):
    """CPU time between two readings, in nanoseconds.

    Attributes:
        ran: Time of the threads of this process.
        waited: Time that they waited while not all CPUs ran threads of this process.
        throttled: Time that the control group was stopped.
        others: Time of all other programs, and of the hypervisor; too much or too little by some
            milliseconds, and so perhaps below 0.
    """

    ran: int
    waited: int
    throttled: int
    others: int

    @classmethod
    def of(cls, before: Reading, after: Reading) -> CpuTimes:
        """Returns the time between two readings, all of it stopped if the CPUs are others."""
        if after.cpus != before.cpus:
            return cls(0, 0, 1, 0)
        ran = max(after.ran - before.ran, 0)
        unused = max(after.cpus * (after.time - before.time) - ran, 0)
        waited = min(max(after.waited - before.waited, 0), unused)
        throttled = max(after.throttled - before.throttled, 0)
        if before.idle is None or after.idle is None:
            return cls(ran, waited, throttled, waited)
        return cls(ran, waited, throttled, unused - (after.idle - before.idle))


def loads_of(spans: ArrayLike) -> NDArray[np.float64]:
    """Returns the load in each of some spans.

    It is the share that others took of the CPU time that the threads asked for. Threads that wait
    for each other are no load: they do as all CPUs run threads of this process, or until the
    scheduler moves one of them to an idle CPU. So the waits of all spans together count as far as
    others ran meanwhile.

    Args:
        spans: ``[..., 4]``: spans (``CpuTimes``).

    Returns:
        float64 ``[...]``: the loads, from 0 to 1.
    """
    ran, waited, throttled, others = np.moveaxis(np.asarray(spans, np.float64), -1, 0)
    all_waited = waited.sum()
    share = min(max(others.sum() / all_waited, 0.0), 1.0) if all_waited else 0.0
    taken = share * waited + throttled
    return taken / np.maximum(ran + taken, 1.0)


class LoadMeter:
    """Reads what the system has counted for this process.

    Run-queue delays are those of ``schedstat``. A kernel without it counts how often threads had to
    make room for others, and each time is taken for a slice of the scheduler.

    Args:
        process: Folder of the process in Linux's ``/proc``.
        groups: Folder of the control groups, of version 1 or 2; there may be none.
        counts: File with the counts of each CPU.
    """

    def __init__(
        self,
        process: Path = Path("/proc/self"),
        groups: Path = Path("/sys/fs/cgroup"),
        counts: Path = Path("/proc/stat"),
    ) -> None:
        self._tasks = str(process / "task")
        self._throttling = _throttling_file(process / "cgroup", groups)
        self._counts = str(counts)

    def __call__(self) -> Reading:
        """Returns a reading."""
        cpus = os.sched_getaffinity(0)
        return Reading(
            time.perf_counter_ns(),
            time.process_time_ns(),
            self._waited(),
            (_throttled(self._throttling) if self._throttling else None) or 0,
            len(cpus),
            self._idle(cpus),
        )

    def _idle(self, cpus: set[int]) -> int | None:
        wanted, ticks = {b"cpu%d" % cpu for cpu in cpus}, 0
        try:
            with open(self._counts, "rb") as file:  # noqa: PTH123
                for line in file:
                    name, *numbers = line.split(maxsplit=6)
                    if name in wanted:
                        wanted.remove(name)
                        ticks += int(numbers[3]) + int(numbers[4])  # idle, and waiting for a disk
                    if not wanted:
                        return ticks * (10**9 // os.sysconf("SC_CLK_TCK"))
        except (OSError, ValueError, IndexError):
            return None
        return None

    def _waited(self) -> int:
        delays = []
        for thread in _names(self._tasks):
            # A thread may have ended, or there is no schedstat. A Path would take twice the time,
            # and this is read between all blocks.
            path = f"{self._tasks}/{thread}/schedstat"
            with contextlib.suppress(OSError, IndexError), open(path, "rb") as file:  # noqa: PTH123
                delays.append(int(file.read().split()[1]))
        if delays:
            return sum(delays)
        return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw * _SLICE


@contextlib.contextmanager
def on_one_cpu() -> Iterator[None]:
    """Binds all threads of this process to one CPU, the same for all, within the block.

    Programs then run with equal threads, however many they would use.
    """
    threads = [int(name) for name in _names("/proc/self/task")]
    before = {}
    for thread in threads:
        with contextlib.suppress(OSError):
            before[thread] = os.sched_getaffinity(thread)
    allowed = os.sched_getaffinity(0)
    try:
        _bind({thread: {max(allowed)} for thread in before})
        yield
    finally:
        # Threads that were started meanwhile have the one CPU of those that started them.
        _bind({int(name): allowed for name in _names("/proc/self/task")} | before)


def _bind(cpus: dict[int, set[int]]) -> None:
    for thread, allowed in cpus.items():
        with contextlib.suppress(OSError):  # it has ended
            os.sched_setaffinity(thread, allowed)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208
    except OSError:
        return []


def _throttling_file(membership: Path, groups: Path) -> Path | None:
    """Returns the file that says how long the process's control group was stopped.

    Args:
        membership: File with a line ``number:controllers:path`` for each hierarchy.
        groups: Folder of the control groups. A container sees its own as the root.
    """
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        for group in (groups / controllers / path.lstrip("/"), groups / controllers):
            if _throttled(file := group / "cpu.stat") is not None:
                return file
    return None


def cpu_quota(
    process: Path = Path("/proc/self"), groups: Path = Path("/sys/fs/cgroup")
) -> float | None:
    """Returns the number of CPUs whose time the process's control group may use.

    Args:
        process: Folder of the process in Linux's ``/proc``.
        groups: Folder of the control groups, of version 1 or 2; there may be none.

    Returns:
        The number, which need not be whole; None without a limit.
    """
    file = _throttling_file(process / "cgroup", groups)
    if file is None:
        return None
    with contextlib.suppress(OSError, ValueError):  # version 2; "max" for no limit
        quota, period = (file.parent / "cpu.max").read_text().split()
        return float(quota) / float(period)
    with contextlib.suppress(OSError, ValueError):
        quota, period = (
            float((file.parent / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period")
        )
        return quota / period if quota > 0 else None
    return None


def _throttled(file: Path) -> int | None:
    """Returns the nanoseconds of throttling in a file ``cpu.stat``; None if it has none."""
    try:
        counts = dict(line.split() for line in file.read_text().splitlines())
    except (OSError, ValueError):
        return None
    if "throttled_usec" in counts:  # version 2
        return 1000 * int(counts["throttled_usec"])
    return int(counts["throttled_time"]) if "throttled_time" in counts else None
