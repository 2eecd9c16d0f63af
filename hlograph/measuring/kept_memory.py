"""Measures what kept freed memory brings a program: two workers, with and without.

What glibc keeps by itself depends on what a process has allocated and freed before. So both workers
have the same short history: inputs are mapped from files, and results of some calls are held, as a
program holds its arrays. Where they fill the first heaps of XLA's threads, others come and go.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hlograph.errors import HloError, WorkerLostError
from hlograph.execution import lock
from hlograph.execution.bootstrap import Interval
from hlograph.execution.equivalence.arrays import Array
from hlograph.execution.process_memory import (
    KeptMemory,
    can_keep_freed_memory,
    keep_freed_memory,
    page_faults,
    resident_bytes,
)
from hlograph.execution.runs import Run
from hlograph.execution.turns import in_turns
from hlograph.isolation import ProcessSetting, Remote, WorkerLimits
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.measuring.samples import Samples
from hlograph.measuring.trial import LONG_RUN, Effort, Job
from hlograph.plans import Plan, Program, compile_program

# A page fault costs this at most: where even that is less than the least gain, nothing is measured.
_FAULT, _LEAST_GAIN = 4e-6, 0.03  # seconds, share of a call

# Fewer page faults in a call are those of Python and of XLA's threads.
_LEAST_FAULTS = 64

# Heaps of all threads that allocate are filled by so many calls, or as many as take a second.
_WARMING, _WARMING_SECONDS = 16, 1.0

# Results of so many calls are held, unless they take more bytes than this.
_HELD, _MOST_HELD = 4, 1 << 29

_COUNTED = 4  # calls whose page faults are counted
_PRELOADED = ("hlograph.measuring.kept_memory",)
_LIMITS = WorkerLimits(seconds=600.0, idle_seconds=3600.0, memory=16 << 30)


@dataclass(frozen=True)
class KeptMemoryComparison:
    """A function and jaxlib's default in two processes, of which one keeps freed memory.

    Attributes:
        kept: What it brings the function.
        plan_ratio: Default time / time with the plan where freed memory is kept; 1 for no plan, or
            if the default was not timed.
        default_pays: True if the default where it is kept is faster than the plan where it is not.
    """

    kept: KeptMemory
    plan_ratio: float
    default_pays: bool


def seconds_of_faults(faults: float) -> float:
    """Returns how long page faults take at most."""
    return faults * _FAULT


def may_pay(faults: float, seconds: float) -> bool:
    """Returns True if page faults may take a share of a call that is worth measuring.

    Args:
        faults: Page faults in a call.
        seconds: Seconds of a call.
    """
    enough = faults >= _LEAST_FAULTS and seconds_of_faults(faults) >= _LEAST_GAIN * seconds
    return enough and can_keep_freed_memory()


def compared(
    job: Job, plan: Plan, effort: Effort, *, alone: bool = False
) -> KeptMemoryComparison | None:
    """Times a function in a process that keeps freed memory and in one that does not, in turns.

    Args:
        job: The program and the conditions.
        plan: The plan that the function runs by; empty for jaxlib's default.
        effort: Duration of the measurement.
        alone: True does not time the default beside a plan.

    Returns:
        The comparison; None if there are not enough page faults to gain by it.

    Raises:
        HloError: A process was lost, or jaxlib does not compile the plan.
    """
    try:
        plans = [plan] if alone or plan.is_empty else [Plan(), plan]
        with _processes(job, plans) as processes:
            return _compared(processes, len(plans), effort)
    except WorkerLostError as error:
        raise HloError(f"a process ended while it was measured: {error}") from error


def _compared(processes: _Processes, plans: int, effort: Effort) -> KeptMemoryComparison | None:
    blocks = [partial(_block, each, number) for each in processes for number in range(plans)]
    with lock.alone():
        # A plan may be ahead by faults of the default that another process does not have.
        of_plans = [processes.returning.call(AllocatingWorker.faults, n) for n in range(plans)]
        once = [block(1) for block in blocks[:plans]]
        if not any(map(may_pay, of_plans, once)):
            return None
        # A run that takes long was warmed, and its faults are the same each time.
        is_long = max(once) >= LONG_RUN
        least = max(2, effort.least // 3) if is_long else effort.least
        seconds = in_turns(
            blocks,
            turns=least if is_long else effort.pairs,
            calls=[1] * len(blocks) if is_long else (),
            block_seconds=effort.block_seconds,
            max_seconds=effort.max_seconds,
            least=least,
        ).seconds
        kept_faults = processes.keeping.call(AllocatingWorker.faults, plans - 1)
    held = [each.call(AllocatingWorker.resident) for each in processes]
    before, after = seconds[:, plans - 1], seconds[:, -1]
    default = seconds[:, -plans]  # where freed memory is kept
    kept = KeptMemory(
        float(np.median(before)),
        float(np.median(after)),
        *Interval.of_median((before / after).tolist()),
        pairs=len(seconds),
        faults_before=round(of_plans[-1]),
        faults=round(kept_faults),
        resident=max(held[1] - held[0], 0),
    )
    ratio = float(np.median(default / after))
    return KeptMemoryComparison(kept, ratio, bool(np.median(before / default) > 1))


def _block(process: Remote[AllocatingWorker], number: int, calls: int) -> float:
    return process.call(AllocatingWorker.seconds, number, calls)


class _Processes(NamedTuple):
    """A worker that returns freed memory, and one that keeps it."""

    returning: Remote[AllocatingWorker]
    keeping: Remote[AllocatingWorker]


@contextlib.contextmanager
def _processes(job: Job, plans: Sequence[Plan]) -> Iterator[_Processes]:
    """Yields the two workers, warm."""
    inputs = job.given
    if inputs is None:
        inputs = Samples(job.program, None, job.seed).usual[0].inputs
    with tempfile.TemporaryDirectory(prefix="hlograph-") as folder, contextlib.ExitStack() as stack:
        files = [StoredArray.of(a, Path(folder) / str(n)) for n, a in enumerate(inputs)]
        make = partial(AllocatingWorker, job.program, files, plans)
        setting = replace(ProcessSetting.here(), keeps_freed_memory=False)
        both = _Processes(
            *(Remote(partial(make, keep), _LIMITS, _PRELOADED, setting) for keep in (False, True))
        )
        for process in both:
            stack.callback(process.close)
        with ThreadPoolExecutor(len(both)) as threads:  # they compile side by side
            list(threads.map(lambda process: process.call(AllocatingWorker.resident), both))
        yield both


class StoredArray(NamedTuple):
    """An array in a file of its bytes."""

    file: str
    dtype: Any
    shape: tuple[int, ...]

    @classmethod
    def of(cls, array: Array, file: Path) -> StoredArray:
        """Writes an array."""
        np.ascontiguousarray(array).reshape(-1).view(np.uint8).tofile(file)
        return cls(str(file), array.dtype, array.shape)

    def read(self) -> Array:
        """Returns the array, whose pages are those of the file."""
        if not np.prod(self.shape):
            return np.zeros(self.shape, self.dtype)
        mapped = np.memmap(self.file, np.uint8, mode="r")
        return np.asarray(mapped).view(self.dtype).reshape(self.shape)


class AllocatingWorker:
    """Runs a program by some plans in one process, which keeps freed memory or does not.

    Args:
        program: The program.
        inputs: Its inputs.
        plans: The plans; the empty one is jaxlib's default.
        keep: True keeps freed memory, from after the first calls on, as in a user's process.
        recorder: Records each operation that may end the process.
    """

    def __init__(
        self,
        program: Program,
        inputs: Sequence[StoredArray],
        plans: Sequence[Plan],
        keep: bool,
        recorder: FlightRecorder,
    ) -> None:
        self._recorder = recorder
        arrays = [array.read() for array in inputs]
        running = lock.alone if program.calls_lapack else lock.compiling
        self._runs: list[Run] = []
        self._held: list[list[Array]] = []
        for each in plans:
            with lock.compiling(), self._noted("compile"):
                run = Run(compile_program(program, each), arrays, program.donated)
            with running(), self._noted("run"):
                self._hold(run)
            self._runs.append(run)
        if keep:
            keep_freed_memory()
        for run in self._runs:
            with running(), self._noted("warm"):
                once = max(run.seconds(), 1e-6)
                if once < LONG_RUN:
                    run.seconds(max(1, min(_WARMING, round(_WARMING_SECONDS / once))))

    def _hold(self, run: Run) -> None:
        """Makes calls whose results are held, after some whose results are not.

        glibc takes a block from a heap, not from the system, if it has freed one of that size.
        """
        is_long = run.seconds() >= LONG_RUN
        if not is_long:
            run.seconds()
        held = run.outputs()
        size = sum(array.nbytes for array in held)
        more = 0 if is_long else min(_HELD, _MOST_HELD // max(size, 1)) - 1
        self._held += [held, *(run.outputs() for _ in range(more))]

    def seconds(self, number: int, calls: int) -> float:
        """Returns the mean seconds of some calls by a plan.

        Args:
            number: Number of the plan.
            calls: Number of calls.
        """
        with self._noted("run"):
            return self._runs[number].seconds(calls)

    def faults(self, number: int) -> float:
        """Returns the mean number of page faults in some calls, or in a long one.

        Args:
            number: Number of the plan.
        """
        run, seconds = self._runs[number], list[float]()

        def first() -> None:
            seconds.append(run.seconds())

        with self._noted("run"):
            faults = page_faults(first)
            if seconds[0] >= LONG_RUN:
                return faults
            return page_faults(partial(run.seconds, _COUNTED)) / _COUNTED

    def resident(self) -> int:
        """Returns the bytes that the process holds."""
        return resident_bytes()

    def _noted(self, note: str) -> contextlib.AbstractContextManager[None]:
        return self._recorder.noted(note.encode())
