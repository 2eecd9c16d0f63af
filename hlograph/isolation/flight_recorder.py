"""Record of a worker's current operation, in memory that outlives the worker."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, NamedTuple

_HEADER = struct.Struct("<dddQ")  # start (0: none), limit, last change, length of the note
_CAPACITY = 1 << 16


class Operation(NamedTuple):
    """Operation in progress.

    Attributes:
        seconds: Seconds since its start.
        limit: Time limit in seconds; None is the pool's limit.
        note: Description of the operation.
    """

    seconds: float
    limit: float | None
    note: bytes


class FlightRecorder:
    """Records the current operation of a worker in memory shared with its pool.

    Recording takes about a microsecond: no message is sent, and the pool reads the record only
    when it checks the worker or has lost it. The pool creates the recorder and passes it to the
    worker's process.
    """

    def __init__(self) -> None:
        self._shared: Any = get_context("forkserver").RawArray("B", _HEADER.size + _CAPACITY)
        self._bytes = memoryview(self._shared).cast("B")
        self.end()

    def begin(self, note: bytes, seconds: float | None = None) -> None:
        """Records the start of an operation.

        Args:
            note: Description of the operation; bytes after the first 65,536 are dropped.
            seconds: Time limit in seconds; None is the pool's limit.
        """
        note = note[:_CAPACITY]
        now = time.monotonic()
        # The note is written first, so that a reader who sees the new time reads the new note.
        self._bytes[_HEADER.size : _HEADER.size + len(note)] = note
        self._write_header(now, seconds or 0.0, now, len(note))

    def end(self) -> None:
        """Records the end of the operation."""
        self._write_header(0.0, 0.0, time.monotonic(), 0)

    @contextmanager
    def noted(self, note: bytes, seconds: float | None = None) -> Iterator[None]:
        """Records the block as an operation; for the arguments, see ``begin``."""
        self.begin(note, seconds)
        try:
            yield
        finally:
            self.end()

    @property
    def operation(self) -> Operation | None:
        """The operation in progress; None without one."""
        begun, limit, _, length = self._read_header()
        if not begun:
            return None
        note = bytes(self._bytes[_HEADER.size : _HEADER.size + length])
        return Operation(time.monotonic() - begun, limit or None, note)

    @property
    def idle_seconds(self) -> float:
        """Seconds since the last start or end of an operation."""
        return time.monotonic() - self._read_header()[2]

    # The header is copied as a whole: pack_into clears its target first and writes byte by byte, so
    # that the other process could read times that were never written.
    def _write_header(self, begun: float, limit: float, last: float, length: int) -> None:
        self._bytes[: _HEADER.size] = _HEADER.pack(begun, limit, last, length)

    def _read_header(self) -> tuple[float, float, float, int]:
        return _HEADER.unpack(bytes(self._bytes[: _HEADER.size]))

    def __getstate__(self) -> Any:
        return self._shared

    def __setstate__(self, shared: Any) -> None:
        self._shared = shared
        self._bytes = memoryview(shared).cast("B")
