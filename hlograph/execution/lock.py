"""A lock of the machine: compilations side by side, measurements alone.

Processes of one user share it, whatever they measure: a compilation that runs beside a measurement
would be measured with it.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def compiling() -> Iterator[None]:
    """Waits until nothing is measured, and keeps measurements waiting within the block."""
    with _held(_path("gate"), fcntl.LOCK_SH):
        machine = _opened(_path("machine"))
        fcntl.flock(machine, fcntl.LOCK_SH)
    try:
        yield
    finally:
        os.close(machine)


@contextmanager
def alone() -> Iterator[None]:
    """Waits until nothing is compiled or measured, and keeps both waiting within the block."""
    # Whoever holds the gate is next: compilations that would begin wait at it.
    with _held(_path("gate"), fcntl.LOCK_EX), _held(_path("machine"), fcntl.LOCK_EX):
        yield


@contextmanager
def _held(path: Path, how: int) -> Iterator[None]:
    descriptor = _opened(path)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        # Closing releases the lock, as the end of the process does.
        os.close(descriptor)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _path(name: str) -> Path:
    return Path(tempfile.gettempdir()) / f"hlograph-{os.getuid()}-{name}.lock"
