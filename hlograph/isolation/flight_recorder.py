"""What a worker is doing, in memory that outlives it."""

from __future__ import annotations

import struct
import time
from multiprocessing import get_context
from typing import Any, NamedTuple

_HEADER = struct.Struct("<dddQ")  # begun (0: nothing), limit, last sign of life, length of the note
_CAPACITY = 1 << 16


class Operation(NamedTuple):
    """An operation in progress.

    Attributes:
        seconds: How long it has been in progress.
        limit: How long it may be; None for the pool's limit.
        note: What it is.
    """

    seconds: float
    limit: float | None
    note: bytes


class FlightRecorder:
    """Notes the one operation that a worker is at, in memory shared with its pool.

    A note costs about a microsecond: no message is sent, and nobody reads it unless the
    worker is lost or watched. Made by the pool; passed to the worker's process.
    """

    def __init__(self) -> None:
        self._shared: Any = get_context("forkserver").RawArray("B", _HEADER.size + _CAPACITY)
        self._bytes = memoryview(self._shared).cast("B")
        self.end()

    def begin(self, note: bytes, seconds: float | None = None) -> None:
        """Notes that an operation begins.

        Args:
            note: What it is; bytes beyond 65,536 are cut off.
            seconds: How long it may take, instead of the pool's limit.
        """
        note = note[:_CAPACITY]
        now = time.monotonic()
        # The note first: a reader that sees the new time finds the new note.
        self._bytes[_HEADER.size : _HEADER.size + len(note)] = note
        self._write_header(now, seconds or 0.0, now, len(note))

    def end(self) -> None:
        """Notes that the operation is over."""
        self._write_header(0.0, 0.0, time.monotonic(), 0)

    @property
    def operation(self) -> Operation | None:
        """The operation in progress, if any."""
        begun, limit, _, length = self._read_header()
        if not begun:
            return None
        note = bytes(self._bytes[_HEADER.size : _HEADER.size + length])
        return Operation(time.monotonic() - begun, limit or None, note)

    @property
    def idle_seconds(self) -> float:
        """Seconds since an operation last began or ended."""
        return time.monotonic() - self._read_header()[2]

    # Header bytes are copied at once: pack_into clears its target first and writes byte by byte,
    # as unpack_from reads, and the other process would see times that never were.
    def _write_header(self, begun: float, limit: float, last: float, length: int) -> None:
        self._bytes[: _HEADER.size] = _HEADER.pack(begun, limit, last, length)

    def _read_header(self) -> tuple[float, float, float, int]:
        return _HEADER.unpack(bytes(self._bytes[: _HEADER.size]))

    def __getstate__(self) -> Any:
        return self._shared

    def __setstate__(self, shared: Any) -> None:
        self._shared = shared
        self._bytes = memoryview(shared).cast("B")
