"""Exact size of the C heap, to find leaks."""

import ctypes
import gc
from collections.abc import Callable, Sequence

_WARM_UP = 20


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

    Resident memory shows a leak only when it exceeds the allocator's reserve; this shows each one.
    Python's own small objects are not counted.
    """
    gc.collect(0)
    info = _mallinfo2()
    return info.uordblks + info.hblkhd


def leak_per_call(function: Callable[[], object], calls: int, rounds: int = 3) -> float:
    """Returns the bytes by which each repeated call grows the heap.

    The first round fills caches and does not count. The minimum over the other rounds counts: a
    leak grows the heap in each of them, the noise of the allocator does not.

    Args:
        function: The function to call.
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


def growth_per_visit(heaps: Sequence[int]) -> float:
    """Returns the bytes by which a worker's heap grows in each visit.

    Args:
        heaps: Bytes in use when each visit began. The first 20 visits, which fill caches, do not
            count.
    """
    counted = heaps[_WARM_UP - 1 :]
    return (counted[-1] - counted[0]) / (len(counted) - 1) if len(counted) > 1 else 0.0
