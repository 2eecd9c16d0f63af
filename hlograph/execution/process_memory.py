"""Memory of this process: what it holds, how far a call makes it grow, and what it keeps freed.

glibc returns freed blocks of 32 MiB and more to the system at once, and the ends of heaps, too. The
next call gets new pages, and the system clears each of them at its first use: a page fault. XLA:CPU
allocates results and temporaries in each call, on threads of its own.
"""

from __future__ import annotations

import ctypes
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Parameters of mallopt, from malloc.h of glibc.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3

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


_keeps = False  # what mallopt was told cannot be asked for


@dataclass(frozen=True)
class KeptMemory:
    """States what it brought a function that its process keeps freed memory.

    Attributes:
        seconds_before: Median time of a call where freed memory is returned to the system.
        seconds: Median time of a call where it is kept.
        ratio: Median of the ratios of the two, turn by turn: above 1, to keep it is faster.
        low: Lower end of the 95 % bootstrap interval of that median.
        high: Upper end.
        pairs: Number of turns.
        faults_before: Page faults in a call where freed memory is returned.
        faults: Page faults in a call where it is kept.
        resident: Bytes that the process holds more.
    """

    seconds_before: float
    seconds: float
    ratio: float
    low: float
    high: float
    pairs: int
    faults_before: int
    faults: int
    resident: int

    @property
    def summary(self) -> str:
        """The gain in words."""
        return f"{self.ratio:.3f} times as fast where the process keeps freed memory"

    def __str__(self) -> str:
        """Returns the gain and its cost in words."""
        return (
            f"{self.summary} ({self.low:.3f} to {self.high:.3f}); {self.faults_before:,} page "
            f"faults in a call, {self.faults:,} then; the process holds {self.resident / 1e6:.0f} "
            "MB more"
        )


def can_keep_freed_memory() -> bool:
    """Returns True if the C library of this process is glibc, which can be told to keep it."""
    return c_function("gnu_get_libc_version") is not None and c_function("mallopt") is not None


def keep_freed_memory() -> bool:
    """Makes this process keep freed memory from now on, for good.

    Blocks of up to 1 GiB come from heaps, which are never returned to the system, and which grow by
    64 MiB at a time. Threads other than the main one have heaps of 64 MiB at most, so that larger
    blocks that they allocate still come from the system, and return to it. ``MALLOC_ARENA_MAX=1``
    in the environment that a process starts with gives them the heap of the main thread.

    Returns:
        True if the C library has taken the settings.
    """
    global _keeps
    if not _keeps and can_keep_freed_memory():
        mallopt = c_function("mallopt")
        # An older glibc takes no threshold above half of a heap.
        taken = any(mallopt(_MMAP_THRESHOLD, size) for size in (1 << 30, 1 << 25))
        _keeps = bool(taken and mallopt(_TRIM_THRESHOLD, -1) and mallopt(_TOP_PAD, 64 << 20))
    return _keeps


def keeps_freed_memory() -> bool:
    """Returns True after ``keep_freed_memory`` in this process."""
    return _keeps


def page_faults(call: Callable[[], Any]) -> int:
    """Returns the number of page faults of this process in a call that read nothing from a disk."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    call()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


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
