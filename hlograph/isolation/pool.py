"""Pools of workers that come through the loss of any of them."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, Self

from hlograph.errors import WorkerLostError
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.limits import Limits
from hlograph.isolation.slot import Slot, preload
from hlograph.isolation.worker_process import MakeWorker

_WATCH_EVERY = 0.05  # seconds


class Pool(Protocol):
    """Something that does tasks."""

    def map(self, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Does tasks and yields (number, result) as they end; numbers count from 0."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...


class InProcessPool:
    """Does tasks one after the other in this process, for debugging: nothing is isolated.

    Args:
        make_worker: See ``WorkerPool``.
    """

    def __init__(self, make_worker: MakeWorker) -> None:
        self._make_worker = make_worker
        self._work: Callable[[Any], Any] | None = None

    def map(self, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Does tasks in order; what a task raises is raised."""
        for number, task in enumerate(tasks):
            if self._work is None:
                self._work = self._make_worker(FlightRecorder())
            yield number, self._work(task)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._work = None


class WorkerPool:
    """Worker processes that do tasks; a lost one costs its task and is replaced.

    Workers are forked from a server process that has imported ``preloaded`` once, so a
    replacement is there within milliseconds. They end with this process, however it ends.

    Args:
        make_worker: Called with a ``FlightRecorder`` in each new worker process, on its first
            task; returns the function that does a task. Picklable, as tasks and results are.
        workers: Number of processes; None is one a core.
        limits: When a worker is given up.
        preloaded: Modules that workers begin with; only the first pool of a process decides.
    """

    def __init__(
        self,
        make_worker: MakeWorker,
        workers: int | None = None,
        limits: Limits | None = None,
        preloaded: Sequence[str] = ("hlograph.module",),
    ) -> None:
        workers = len(os.sched_getaffinity(0)) if workers is None else workers
        if workers < 1:
            raise ValueError(f"expected at least 1 worker, got {workers}")
        preload(preloaded)
        self._slots = [Slot(make_worker, limits or Limits()) for _ in range(workers)]
        self._tasks: queue.SimpleQueue[tuple[int, Any] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[tuple[int, Any, Exception | None]] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._serve, args=(slot,), daemon=True) for slot in self._slots
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pids(self) -> list[int]:
        """Processes of the workers that have started."""
        return [slot.pid for slot in self._slots if slot.pid is not None]

    def map(self, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Does tasks and yields (number, result) as they end; numbers count from 0.

        Tasks are taken from the iterable one at a time as workers become free, so what it
        yields may depend on results. One ``map`` at a time.

        Yields:
            Number and result; of a lost task the result is the ``WorkerLostError``.

        Raises:
            Exception: What a task raised, with the worker's traceback as a note.
        """
        numbered = iter(enumerate(tasks))
        pending = 0
        try:
            while True:
                while pending < len(self._slots) and (job := next(numbered, None)) is not None:
                    self._tasks.put(job)
                    pending += 1
                if not pending:
                    return
                number, result, raised = self._next_result()
                pending -= 1
                if raised is not None:
                    raise raised
                yield number, result
        finally:
            # Left early: what is still under way must not turn up in the next map.
            if pending:
                self._interrupt()
            for _ in range(pending):
                self._results.get()

    def close(self) -> None:
        """Ends the workers."""
        self._interrupt()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()
        for slot in self._slots:
            slot.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _interrupt(self) -> None:
        for slot in self._slots:
            slot.interrupt()

    def _serve(self, slot: Slot) -> None:
        """A thread's life: tasks of one slot, until there are none."""
        while (job := self._tasks.get()) is not None:
            number, task = job
            try:
                self._results.put((number, slot.run(task), None))
            except WorkerLostError as lost:
                self._results.put((number, lost, None))
            except Exception as error:  # handed over to the thread that called map
                self._results.put((number, None, error))

    def _next_result(self) -> tuple[int, Any, Exception | None]:
        """Waits for a result, and watches the workers meanwhile."""
        while True:
            try:
                return self._results.get(timeout=_WATCH_EVERY)
            except queue.Empty:
                now = time.monotonic()
                for slot in self._slots:
                    slot.watch(now)


def make_pool(
    make_worker: MakeWorker,
    workers: int | None,
    limits: Limits | None = None,
    preloaded: Sequence[str] = ("hlograph.module",),
) -> Pool:
    """Returns a pool of worker processes, or with 0 workers one that works in this process."""
    if workers == 0:
        return InProcessPool(make_worker)
    return WorkerPool(make_worker, workers, limits, preloaded)
