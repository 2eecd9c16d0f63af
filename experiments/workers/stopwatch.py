"""A stopwatch for the sections of a program."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Adds up seconds by section."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.last = 0.0
        """Seconds of the section that ended last."""

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Adds the time of the block to a section."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.last = time.perf_counter() - start
            self.add(name, self.last)

    def add(self, name: str, seconds: float) -> None:
        """Adds seconds, which may be negative."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def reset(self) -> dict[str, float]:
        """Returns seconds by section since the last reset, and resets them."""
        seconds, self.seconds = self.seconds, {}
        return seconds
