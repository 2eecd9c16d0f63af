"""The loop that times things in turns.

A machine is faster at one moment than at the next. What takes turns meets the same moments, so the
ratio of two times within a turn holds where the times themselves do not. Load is another matter
(``hlograph.execution.load``): turns under load are made again, or corrected.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hlograph.execution.load import LOADED, CpuTimes, Reading, loads_of

Block = Callable[[int], float]
"""Function that makes so many calls, and returns the seconds of one of them.

What it has to prepare is not in its seconds.
"""

# Share of the turns that are made again at most, as they were under load.
_AGAIN = 0.3

# A call that takes longer than this is warm after one.
_SLOW = 0.1  # seconds

# In place of what was not read: there is no load.
_UNREAD = CpuTimes(0, 0, 0, 0)


@dataclass(frozen=True)
class Turns:
    """Times of things that took turns.

    Attributes:
        seconds: float64 ``[T, N]``: seconds of one call of each of N things in each of T turns.
        load: float64 ``[T, N]``: load of the machine in the meantime, from 0 to 1; all 0 if it was
            not read.
    """

    seconds: NDArray[np.float64]
    load: NDArray[np.float64]

    @property
    def quiet(self) -> NDArray[np.bool_]:
        """Boolean ``[T]``: the turns without load."""
        return np.asarray((self.load <= LOADED).all(axis=1))

    def undisturbed(self, least: int) -> Turns:
        """Returns what the times would be on a quiet machine.

        These are the turns without load, if there are at least so many. Otherwise they are all
        turns, without the share of the time that others took, but those of which that is all.
        """
        quiet = self.quiet
        if quiet.sum() >= least:
            return Turns(self.seconds[quiet], self.load[quiet])
        some = (self.load < 1).all(axis=1)
        if not some.any():
            return self
        return Turns(self.seconds[some] * (1 - self.load[some]), self.load[some])


def in_turns(
    blocks: Sequence[Block],
    *,
    turns: int,
    calls: Sequence[int] = (),
    block_seconds: float = 0.0,
    max_seconds: float = math.inf,
    least: int = 3,
    stop: Callable[[Turns], bool] = lambda turns: False,
    read: Callable[[], Reading] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Turns:
    """Times things in turns.

    Each turn begins with another one, so that none always follows the same one. Turns under load do
    not count, but all that are made are returned.

    Args:
        blocks: The things.
        turns: Number of turns.
        calls: Numbers of calls in a block of each. If it is empty, each is warmed by one call or
            two, and then has as many as take ``block_seconds``.
        block_seconds: Least duration of a block, in seconds.
        max_seconds: Time after which no turn begins, in seconds.
        least: Number of turns that are made in any case.
        stop: Function that is passed the turns so far, ``least`` of them or more, and returns True
            to end.
        read: Reads the load between blocks. With None all turns count.
        clock: Tells seconds.

    Returns:
        All turns.
    """
    begun = clock()
    calls = calls or [_calls(block, block_seconds) for block in blocks]
    turns = max(turns, least)
    most = turns if read is None else math.floor(turns / (1 - _AGAIN))
    seconds: list[list[float]] = []
    spans: list[list[CpuTimes]] = []
    done = _turns(seconds, spans)
    with without_collector():
        while done.quiet.sum() < turns and len(seconds) < most:
            if len(seconds) >= least and clock() - begun > max_seconds:
                break
            if len(seconds) >= least and stop(done):
                break
            row, meanwhile = _turn(blocks, calls, len(seconds), read)
            seconds.append(row)
            spans.append(meanwhile)
            done = _turns(seconds, spans)
    return done


def _turns(seconds: list[list[float]], spans: list[list[CpuTimes]]) -> Turns:
    """Returns turns, with the loads that all their CPU times together show."""
    if not seconds:
        return Turns(np.zeros((0, 0)), np.zeros((0, 0)))
    return Turns(np.array(seconds, np.float64), loads_of(spans))


def _turn(
    blocks: Sequence[Block],
    calls: Sequence[int],
    number: int,
    read: Callable[[], Reading] | None,
) -> tuple[list[float], list[CpuTimes]]:
    """Returns the seconds and the CPU times of one turn."""
    seconds, spans = [0.0] * len(blocks), [_UNREAD] * len(blocks)
    before = read() if read else None
    for offset in range(len(blocks)):
        index = (number + offset) % len(blocks)
        seconds[index] = blocks[index](calls[index])
        if read and before:
            after = read()
            spans[index] = CpuTimes.of(before, after)
            before = after
    return seconds, spans


def _calls(block: Block, block_seconds: float) -> int:
    """Warms a thing, and returns the number of its calls in a block."""
    once = block(1)
    if once < _SLOW:
        once = block(1)
    return max(1, math.ceil(block_seconds / max(once, 1e-7)))


@contextmanager
def without_collector() -> Iterator[None]:
    """Collects garbage now and not within the block: what others left is not charged to it."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
