"""Tasks for a pool of workers, the notes of what a worker does, and the progress bar."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from tqdm import tqdm

from hlograph.isolation import FlightRecorder, Pool

T = TypeVar("T")

INTERRUPTED = 130
"""Exit status of a program that was stopped by Ctrl-C."""


class TaskQueue(Generic[T]):
    """Tasks that a pool takes one at a time; tasks can be added while the pool works.

    Args:
        tasks: The first tasks.
        seconds: After so many seconds no further task is issued.
    """

    def __init__(self, tasks: Iterable[T] = (), seconds: float = math.inf) -> None:
        self._waiting = deque(tasks)
        self._issued: list[T] = []
        self._end = time.monotonic() + seconds

    def put(self, task: T) -> None:
        """Adds a task, which is issued before those that wait."""
        self._waiting.appendleft(task)

    def clear(self) -> None:
        """Drops the tasks that were not issued yet."""
        self._waiting.clear()

    def run(self, pool: Pool) -> Iterator[tuple[T, Any]]:
        """Yields each task with the worker's result, in the order in which they end."""
        self._issued.clear()
        for number, result in pool.map(self):
            yield self._issued[number], result

    def __iter__(self) -> Iterator[T]:
        return self

    # Not a generator: one that has ended could not issue a task that is added later.
    def __next__(self) -> T:
        if not self._waiting or time.monotonic() >= self._end:
            raise StopIteration
        self._issued.append(self._waiting.popleft())
        return self._issued[-1]


@contextmanager
def noted(recorder: FlightRecorder, note: str, seconds: float | None = None) -> Iterator[None]:
    """Notes an operation that may end the process while it runs.

    Args:
        recorder: Where it is noted.
        note: Describes the operation.
        seconds: Longest time of the operation, instead of the pool's limit.
    """
    recorder.begin(note.encode(), seconds)
    try:
        yield
    finally:
        recorder.end()


def progress(total: int, unit: str, done: int = 0) -> tqdm[Any]:
    """Returns a progress bar whose rate is the average of this run.

    Args:
        total: Number of units of the whole campaign.
        unit: Name of a unit.
        done: Units that earlier runs have done.
    """
    return tqdm(total=total, initial=done, unit=unit, smoothing=0, dynamic_ncols=True)
