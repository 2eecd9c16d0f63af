"""Memory of this process: what it holds, and how far a call makes it grow."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # of clear_refs, see proc(5)

# Memory is freed if the process holds less than this less after a moment.
_STEADY, _MOMENT, _MOST_WAITS = 1 << 20, 0.02, 50  # bytes, seconds, number of moments


def resident_growth(call: Callable[[], Any]) -> int:
    """Returns the bytes by which the resident memory of this process grows in a call, at most.

    What earlier calls have freed is returned to the system before. XLA's threads free some of it a
    moment after a call, and that is waited for. Heaps of these threads keep freed blocks of less
    than 32 MiB all the same, so this is a lower bound.

    Args:
        call: The call; what it returns is dropped.

    Returns:
        The bytes; 0 if the system does not say, as it does on Linux.
    """
    _settle()
    try:
        _CLEAR.write_text(_RESET_PEAK)
        before = _status("VmHWM")
    except OSError:
        call()
        return 0
    call()
    return max(_status("VmHWM") - before, 0)


def resident_bytes() -> int:
    """Returns the resident memory of this process in bytes; 0 if the system does not say."""
    try:
        return _status("VmRSS")
    except OSError:
        return 0


def release_freed_memory() -> None:
    """Returns freed memory to the system, where the C library is glibc."""
    trim = c_function("malloc_trim")
    if trim is not None:
        trim(ctypes.c_size_t(0))


def c_function(name: str) -> Any:
    """Returns a function of the C library of this process; None if it has none of that name."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):  # TypeError: on Windows
        return None


def _settle() -> None:
    """Returns freed memory until the process holds no less after a moment."""
    held = resident_bytes()
    for _ in range(_MOST_WAITS):
        release_freed_memory()
        time.sleep(_MOMENT)
        before, held = held, resident_bytes()
        if before - held < _STEADY:
            return


def _status(line: str) -> int:
    """Returns the bytes in one line of the process's status; 0 if there is no such line."""
    for text in _STATUS.read_text(encoding="ascii", errors="replace").splitlines():
        name, _, value = text.partition(":")
        if name == line:
            return int(value.split()[0]) << 10
    return 0
