"""Bytes that the C heap holds, exactly, to find leaks."""

import ctypes
import gc
from collections.abc import Callable
from dataclasses import dataclass


class _Mallinfo2(ctypes.Structure):
    # malloc.h of glibc 2.33 and later: ten size_t.
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


_mallinfo2 = ctypes.CDLL(None).mallinfo2
_mallinfo2.restype = _Mallinfo2


def in_use() -> int:
    """Returns the bytes of all live allocations (glibc's `mallinfo2`), mapped ones included.

    Resident memory only shows leaks larger than what the allocator keeps in stock; this shows
    every one. Python's own small objects are not in it.
    """
    gc.collect(0)
    info = _mallinfo2()
    return info.uordblks + info.hblkhd


def leak_per_call(function: Callable[[], object], calls: int, rounds: int = 3) -> float:
    """Returns by how many bytes a call grows the heap, when it is repeated.

    A first round fills caches and is not counted. The least of the further rounds counts: a
    leak grows in each, the noise of the allocator's small stocks does not.

    Args:
        function: What to call.
        calls: Calls in a round.
        rounds: Rounds that count.
    """
    growths = []
    for _ in range(rounds + 1):
        before = in_use()
        for _ in range(calls):
            function()
        growths.append(in_use() - before)
        if growths[-1] <= 0 and len(growths) > 1:
            break
    return min(growths[1:]) / calls


_WARM_UP = 20


@dataclass
class HeapTrend:
    """How the heap of one worker grows over its visits.

    Attributes:
        visits: Visits seen; the first 20, in which caches fill, do not count.
        first: Bytes in use when the first visit that counts began.
        last: Bytes in use when the latest visit began.
    """

    visits: int = 0
    first: int = 0
    last: int = 0

    def add(self, heap: int) -> None:
        """Takes the bytes in use at the beginning of the next visit."""
        self.visits += 1
        self.last = heap
        if self.visits <= _WARM_UP:
            self.first = heap

    @property
    def per_visit(self) -> float:
        """Bytes of growth for each visit."""
        return (self.last - self.first) / max(1, self.visits - _WARM_UP)
