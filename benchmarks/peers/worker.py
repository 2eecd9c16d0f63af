"""What runs in the process of a peer: a program, timed on inputs that lie ready.

Processes of all peers import this, so it needs nothing but numpy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
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


class PeerWorker:
    """A program as one peer runs it."""

    def __init__(self) -> None:
        self._read = LoadMeter()
        self._last = 0.0

    def prepared(self) -> Any:
        """Returns the arguments of one call, which are made outside of the clock."""
        raise NotImplementedError

    def run(self, prepared: Any) -> Any:
        """Makes one call and waits for its results."""
        raise NotImplementedError

    def seconds(self, calls: int) -> float:
        """Returns the mean seconds of some calls, after a pause and an untimed call."""
        return self.rested(lambda n: sum(self._timed_call() for _ in range(n)) / n, calls)

    def rested(self, timed: Callable[[int], float], calls: int) -> float:
        """Returns what a function that times calls returns, after a pause and an untimed call."""
        time.sleep(PAUSE)
        with plainly():
            if self._last < _SLOW:
                timed(1)
            self._last = timed(calls)
        return self._last

    def _timed_call(self) -> float:
        prepared = self.prepared()
        begun = time.perf_counter()
        self.run(prepared)
        return time.perf_counter() - begun

    def reading(self) -> Reading:
        """Returns what the system has counted for this process."""
        return self._read()
