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

PAUSE = 0.02
"""Seconds of rest before calls, in which the threads of the peer before fall asleep.

Threads of XLA and OpenMP wait for work by spinning for some milliseconds after a call.
"""

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


class PeerWorker(ABC):
    """A program as one peer runs it."""

    def __init__(self) -> None:
        self._read = LoadMeter()
        self._last = 0.0

    @abstractmethod
    def timed(self, calls: int) -> float:
        """Returns the mean seconds of some calls, one after the other."""

    def seconds(self, calls: int) -> float:
        """Returns the mean seconds of some calls, after a pause and an untimed call."""
        time.sleep(PAUSE)
        with plainly():
            if self._last < _SLOW:
                self.timed(1)
            self._last = self.timed(calls)
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
