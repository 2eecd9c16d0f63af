"""Pools of workers, which continue after the loss of a worker."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, Self

from hlograph.errors import WorkerLostError
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.limits import WorkerLimits
from hlograph.isolation.setting import ProcessSetting
from hlograph.isolation.slot import Slot, preload
from hlograph.isolation.worker_process import MakeWorker

_WATCH_EVERY = 0.05  # seconds


class Pool(Protocol):
    """Interface of a pool of workers."""

    def map(self, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Performs tasks and yields (number, result) as they end; numbers count from 0."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...


class InProcessPool:
    """Pool without processes, for debugging: tasks run one after the other in this process.

    Args:
        make_worker: See ``WorkerPool``.
    """

    def __init__(self, make_worker: MakeWorker) -> None:
        self._make_worker = make_worker
        self._work: Callable[[Any], Any] | None = None

    def map(self, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Performs tasks in order, and raises the exceptions of tasks."""
        for number, task in enumerate(tasks):
            if self._work is None:
                self._work = self._make_worker(FlightRecorder())
            yield number, self._work(task)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._work = None


class WorkerPool:
    """Pool of worker processes; a lost worker costs its task and is replaced.

    Workers are forked from a server process that has imported ``preloaded`` once, so a new worker
    starts within milliseconds. Workers end when this process ends, whatever the cause.

    Args:
        make_worker: Function that is called with a ``FlightRecorder`` in each new worker process
            on its first task, and returns the function that performs a task. It must be
            picklable, and so must tasks and results.
        workers: Number of processes; None is the number of CPUs.
        limits: Limits of a worker.
        preloaded: Modules that workers have imported at their start. The value of the first pool
            in a process applies to all later pools.
        with_main: False does not import the main module of the program in the workers. Tasks may
            not be of classes of that module then, and a script needs no ``if __name__ ==
            "__main__"`` around the code that makes a pool.
        ahead: True starts the processes at once, and calls ``make_worker`` in them before there is
            a task. Until then their limits do not hold.
        setting: Setting of the processes; None is that of this process and thread at this moment.
    """

    def __init__(
        self,
        make_worker: MakeWorker,
        workers: int | None = None,
        limits: WorkerLimits | None = None,
        preloaded: Sequence[str] = ("hlograph.module",),
        *,
        with_main: bool = True,
        ahead: bool = False,
        setting: ProcessSetting | None = None,
    ) -> None:
        workers = len(os.sched_getaffinity(0)) if workers is None else workers
        if workers < 1:
            raise ValueError(f"expected at least 1 worker, got {workers}")
        preload(preloaded)
        self._ahead = ahead
        self._closed, self._lock = False, threading.Lock()
        self._under_way = 0  # tasks handed out that have no result yet
        limits = limits or WorkerLimits()
        setting = setting or ProcessSetting.here()
        self._slots = [Slot(make_worker, limits, with_main, ahead, setting) for _ in range(workers)]
        self._tasks: queue.SimpleQueue[tuple[int, Any] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[tuple[int, Any, Exception | None]] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._serve, args=(slot,), daemon=True) for slot in self._slots
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers that have started."""
        return [slot.pid for slot in self._slots if slot.pid is not None]

    def map(self, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Performs tasks and yields (number, result) as they end; numbers count from 0.

        Tasks are taken from the iterable one by one as workers become free, so the iterable may
        depend on earlier results. Only one ``map`` may run at a time.

        Yields:
            Number and result. The result of a lost task is the ``WorkerLostError``.

        Raises:
            Exception: An exception of a task, with the worker's traceback as a note.
        """
        numbered = iter(enumerate(tasks))
        pending = 0
        with self._lock:
            for slot in () if self._closed else self._slots:
                slot.resume()
        try:
            while True:
                while pending < len(self._slots) and (job := next(numbered, None)) is not None:
                    self._hand_out(*job)
                    pending += 1
                if not pending:
                    return
                number, result, raised = self._next_result()
                pending -= 1
                if raised is not None:
                    raise raised
                yield number, result
        finally:
            self._abandon()

    def close(self) -> None:
        """Ends the workers; tasks of a ``map`` in another thread are lost."""
        with self._lock:
            self._closed = True
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

    def _hand_out(self, number: int, task: Any) -> None:
        """Gives a task to the next free worker; in a pool that is closed it is lost."""
        with self._lock:
            if self._closed:
                self._results.put((number, WorkerLostError("the pool was closed"), None))
            else:
                self._under_way += 1
                self._tasks.put((number, task))

    def _abandon(self) -> None:
        """Ends the tasks of a ``map`` that stops early: their results must not reach the next.

        A Ctrl-C comes between any two steps, also between the result and the caller's count of it.
        So the threads count what is under way.
        """
        if self._under_way:
            self._interrupt()
        while self._under_way:
            with contextlib.suppress(queue.Empty):
                self._results.get(timeout=_WATCH_EVERY)
        self._results = queue.SimpleQueue()

    def _interrupt(self) -> None:
        for slot in self._slots:
            slot.interrupt()

    def _serve(self, slot: Slot) -> None:
        """Runs tasks in one slot until the pool is closed; the target of a thread."""
        # The server of workers inherits it. Otherwise a Ctrl-C that comes while it imports its
        # modules ends it with a traceback.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        if self._ahead:
            slot.start()
        while (job := self._tasks.get()) is not None:
            outcome = _perform(slot, *job)
            with self._lock:
                self._under_way -= 1
                self._results.put(outcome)
            del job, outcome  # large ones need not live until the next task comes

    def _next_result(self) -> tuple[int, Any, Exception | None]:
        """Waits for a result, and checks the workers in the meantime."""
        while True:
            try:
                return self._results.get(timeout=_WATCH_EVERY)
            except queue.Empty:
                now = time.monotonic()
                for slot in self._slots:
                    slot.watch(now)


def _perform(slot: Slot, number: int, task: Any) -> tuple[int, Any, Exception | None]:
    """Runs a task in a slot; returns its number, its result, and the exception that it raised."""
    try:
        return number, slot.run(task), None
    except WorkerLostError as lost:
        return number, lost, None
    except Exception as error:  # raised by map in the caller's thread
        return number, None, error


def make_pool(
    make_worker: MakeWorker,
    workers: int | None,
    limits: WorkerLimits | None = None,
    preloaded: Sequence[str] = ("hlograph.module",),
) -> Pool:
    """Returns a pool of worker processes; with 0 workers, one that works in this process."""
    if workers == 0:
        return InProcessPool(make_worker)
    return WorkerPool(make_worker, workers, limits, preloaded)
