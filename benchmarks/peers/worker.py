"""Runs in the process of a peer: times a program on inputs that lie ready.

Processes of all peers import this, so it needs nothing but numpy.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hlograph.errors import HloError
from hlograph.execution.load import LoadMeter, Reading

_REST = 0.005  # seconds for which threads have to sleep, and the most that they run meanwhile
_AWAKE = 0.0005

_LONGEST = 1.0  # seconds after which threads are left awake

_SLOW = 0.1  # seconds from which on a call is not made once more to warm the caches


@contextmanager
def plainly() -> Iterator[None]:
    """Raises errors of libraries that other processes lack as errors that those can read."""
    try:
        yield
    except HloError:
        raise
    except Exception as error:  # whatever a library raises
        raise HloError(f"{type(error).__name__}: {error}") from error


def wait_for_sleep() -> None:
    """Waits until the threads of this process are asleep."""
    end = time.perf_counter() + _LONGEST
    while time.perf_counter() < end:
        ran = time.process_time()
        time.sleep(_REST)
        if time.process_time() - ran < _AWAKE:
            return


class PeerWorker(ABC):
    """A program as one peer runs it."""

    def __init__(self) -> None:
        self._read = LoadMeter()
        self._last = 0.0

    @abstractmethod
    def timed(self, calls: int) -> float:
        """Returns the mean seconds of some calls, one after the other."""

    def seconds(self, calls: int) -> float:
        """Returns the mean seconds of some calls after an untimed one.

        They end when all threads of the process are asleep, as others are timed next: those of XLA
        and OpenMP look for work for some milliseconds after a call, those of OpenBLAS for 100.
        """
        with plainly():
            if self._last < _SLOW:
                self.timed(1)
            self._last = self.timed(calls)
        wait_for_sleep()
        return self._last

    def reading(self) -> Reading:
        """Returns what the system has counted for this process."""
        return self._read()


class CallWorker(PeerWorker):
    """A program that is a function of Python, of whose calls each is timed by itself."""

    @abstractmethod
    def prepared(self) -> Any:
        """Returns the arguments of one call, which are made outside of the clock."""

    @abstractmethod
    def run(self, prepared: Any) -> Any:
        """Makes one call and waits for its results."""

    def timed(self, calls: int) -> float:
        """Returns the mean seconds of some calls."""
        return sum(self.timed_call() for _ in range(calls)) / calls

    def timed_call(self) -> float:
        """Returns the seconds of one call."""
        prepared = self.prepared()
        begun = time.perf_counter()
        self.run(prepared)
        return time.perf_counter() - begun
