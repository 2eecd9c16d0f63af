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
from hlograph.measuring.trial import Effort, Job
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
        plan_ratio: Default time / time with the plan where freed memory is kept; 1 for no plan.
        default_pays: True if the default where it is kept is faster than the plan where it is not.
    """

    kept: KeptMemory
    plan_ratio: float
    default_pays: bool


def may_pay(faults: float, seconds: float) -> bool:
    """Returns True if page faults may take a share of a call that is worth measuring.

    Args:
        faults: Page faults in a call.
        seconds: Seconds of a call.
    """
    enough = faults >= _LEAST_FAULTS and faults * _FAULT >= _LEAST_GAIN * seconds
    return enough and can_keep_freed_memory()


def compared(job: Job, plan: Plan, effort: Effort) -> KeptMemoryComparison | None:
    """Times a function in a process that keeps freed memory and in one that does not, in turns.

    Args:
        job: The program and the conditions.
        plan: The plan that the function runs by; empty for jaxlib's default.
        effort: Duration of the measurement.

    Returns:
        The comparison; None if there are not enough page faults to gain by it.

    Raises:
        HloError: A process was lost, or jaxlib does not compile the plan.
    """
    try:
        with _processes(job, plan) as processes:
            return _compared(processes, plan, effort)
    except WorkerLostError as error:
        raise HloError(f"a process ended while it was measured: {error}") from error


def _compared(processes: _Processes, plan: Plan, effort: Effort) -> KeptMemoryComparison | None:
    # The default and the function, which is the default itself without a plan.
    subjects = (False,) if plan.is_empty else (False, True)
    blocks = [partial(_block, each, planned) for each in processes for planned in subjects]
    with lock.alone():
        # A plan may be ahead by faults of the default that another process does not have.
        each_faults = [processes.returning.call(AllocatingWorker.faults, s) for s in subjects]
        if not any(may_pay(n, block(1)) for n, block in zip(each_faults, blocks, strict=False)):
            return None
        seconds = in_turns(
            blocks,
            turns=effort.pairs,
            block_seconds=effort.block_seconds,
            max_seconds=effort.max_seconds,
            least=effort.least,
        ).seconds
        faults = [each.call(AllocatingWorker.faults, subjects[-1]) for each in processes]
    held = [each.call(AllocatingWorker.resident) for each in processes]
    before, after = seconds[:, len(subjects) - 1], seconds[:, -1]
    default = seconds[:, -len(subjects)]  # where freed memory is kept
    kept = KeptMemory(
        float(np.median(before)),
        float(np.median(after)),
        *Interval.of_median((before / after).tolist()),
        pairs=len(seconds),
        faults_before=round(faults[0]),
        faults=round(faults[1]),
        resident=max(held[1] - held[0], 0),
    )
    ratio = float(np.median(default / after))
    return KeptMemoryComparison(kept, ratio, bool(np.median(before / default) > 1))


def _block(process: Remote[AllocatingWorker], planned: bool, calls: int) -> float:
    return process.call(AllocatingWorker.seconds, planned, calls)


class _Processes(NamedTuple):
    """A worker that returns freed memory, and one that keeps it."""

    returning: Remote[AllocatingWorker]
    keeping: Remote[AllocatingWorker]


@contextlib.contextmanager
def _processes(job: Job, plan: Plan) -> Iterator[_Processes]:
    """Yields the two workers, warm."""
    inputs = job.given
    if inputs is None:
        inputs = Samples(job.program, None, job.seed).usual[0].inputs
    with tempfile.TemporaryDirectory(prefix="hlograph-") as folder, contextlib.ExitStack() as stack:
        files = [StoredArray.of(a, Path(folder) / str(n)) for n, a in enumerate(inputs)]
        make = partial(AllocatingWorker, job.program, files, plan)
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
    """Runs jaxlib's default and a plan in one process, which keeps freed memory or does not.

    Args:
        program: The program.
        inputs: Its inputs.
        plan: The plan; if it is empty, there is the default alone.
        keep: True keeps freed memory, from after the first calls on, as in a user's process.
        recorder: Records each operation that may end the process.
    """

    def __init__(
        self,
        program: Program,
        inputs: Sequence[StoredArray],
        plan: Plan,
        keep: bool,
        recorder: FlightRecorder,
    ) -> None:
        self._recorder = recorder
        arrays = [array.read() for array in inputs]
        self._runs: list[Run] = []
        self._held: list[list[Array]] = []
        for each in (Plan(),) if plan.is_empty else (Plan(), plan):
            with lock.compiling(), self._noted("compile"):
                run = Run(compile_program(program, each), arrays, program.donated)
                self._hold(run)
            self._runs.append(run)
        if keep:
            keep_freed_memory()
        for run in self._runs:
            with lock.compiling(), self._noted("warm"):
                once = max(run.seconds(), 1e-6)
                run.seconds(max(1, min(_WARMING, round(_WARMING_SECONDS / once))))

    def _hold(self, run: Run) -> None:
        """Makes calls whose results are held, after some whose results are not.

        glibc takes a block from a heap, not from the system, if it has freed one of that size.
        """
        run.seconds(2)
        held = run.outputs()
        size = sum(array.nbytes for array in held)
        more = min(_HELD, _MOST_HELD // max(size, 1)) - 1
        self._held += [held, *(run.outputs() for _ in range(more))]

    def seconds(self, planned: bool, calls: int) -> float:
        """Returns the mean seconds of some calls."""
        with self._noted("run"):
            return self._runs[planned].seconds(calls)

    def faults(self, planned: bool) -> float:
        """Returns the mean number of page faults in some calls."""
        with self._noted("run"):
            faults = page_faults(partial(self._runs[planned].seconds, _COUNTED))
        return faults / _COUNTED

    def resident(self) -> int:
        """Returns the bytes that the process holds."""
        return resident_bytes()

    def _noted(self, note: str) -> contextlib.AbstractContextManager[None]:
        return self._recorder.noted(note.encode())
