"""Times of programs of two processes, taken in turns."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from hlograph.execution import lock
from hlograph.execution.bootstrap import Interval
from hlograph.execution.load import Reading
from hlograph.execution.measured import Measured
from hlograph.execution.turns import Turns, in_turns
from hlograph.measuring.trial import FINAL, Effort
from hlograph.optimization.leading import LEAST_GAIN, LEAST_LEAD


class TimedProcess(Protocol):
    """A process whose programs are timed, such as an ``Interpreter``."""

    def seconds(self, key: str, calls: int, /) -> float:
        """Returns the mean seconds of several runs of a program."""
        ...

    def reading(self) -> Reading:
        """Returns what the system has counted for the process."""
        ...


Timed = tuple[TimedProcess, str]
"""A process, and the key of one of its programs."""

# Times are taken again if the control is off by more than this, as a share.
_QUIET, _ATTEMPTS = 0.04, 3

QUICK = Effort(pairs=15, block_seconds=0.005, max_seconds=1.0, thorough=False, least=5)
"""Effort for what is tried while a module is made smaller, or a plan is looked for."""


def turns_of(
    programs: Sequence[Timed],
    effort: Effort,
    stop: Callable[[Turns], bool] = lambda turns: False,
) -> Turns:
    """Times programs in turns, while nothing else of this user compiles or is measured.

    Args:
        programs: The programs, which may be of several processes.
        effort: Duration.
        stop: Function that is passed the first turns, and returns True to end.

    Returns:
        The turns without load, or all of them, without what others took.
    """
    sides = list(dict.fromkeys(side for side, _ in programs))
    with lock.alone():
        turns = in_turns(
            [partial(side.seconds, key) for side, key in programs],
            turns=effort.pairs,
            block_seconds=effort.block_seconds,
            max_seconds=effort.max_seconds,
            least=effort.least,
            stop=stop,
            read=lambda: _reading(sides),
        )
    return turns.undisturbed(effort.least)


def quiet_turns_of(programs: Sequence[Timed]) -> Turns:
    """Times a program, another one and a control in turns, again if the control is far off.

    Args:
        programs: The programs; the third is the first one, in another process. More may follow.
    """
    tries: list[Turns] = []
    while len(tries) < _ATTEMPTS and (not tries or min(map(_noise, tries)) > _QUIET):
        tries.append(turns_of(programs, FINAL))
    return min(tries, key=_noise)


def _noise(turns: Turns) -> float:
    """Returns how far the control is from the first program, as the logarithm of a factor."""
    first, _, control, *_ = turns.seconds.T
    return abs(math.log(float(np.median(first / control))))


def joined(rounds: Sequence[Turns]) -> Turns:
    """Returns the turns of several rounds as one."""
    return Turns(
        np.concatenate([turns.seconds for turns in rounds]),
        np.concatenate([turns.load for turns in rounds]),
    )


def verdict_of(rounds: Sequence[Measured]) -> str:
    """Returns which of two programs is faster: ``first``, ``second``, or ``neither``.

    In each round, of fresh processes, the interval of the ratio must lie on one side of 1, further
    from it than the first program's ratio to itself in another process, as for a plan in a race
    (``hlograph.optimization.leading.leads``).

    Args:
        rounds: The second program beside the first, in each round.
    """
    for name, signs in (("second", 1), ("first", -1)):
        if all(_leads(measured, signs) for measured in rounds):
            return name
    return "neither"


def _leads(measured: Measured, sign: int) -> bool:
    noise = max(measured.control, 1 / measured.control)
    ratio = measured.ratio**sign
    low = measured.low if sign > 0 else 1 / measured.high
    gained = sign * (measured.default_seconds - measured.seconds)
    return low > noise and ratio >= LEAST_LEAD and gained >= LEAST_GAIN


@dataclass(frozen=True)
class TwoTimes:
    """Times of a program under both sides.

    Attributes:
        seconds: Median seconds under each side, with its 95 % interval.
        measured: The second side beside the first, over all rounds.
        rounds: The same in each round.
    """

    seconds: tuple[Interval, Interval]
    measured: Measured
    rounds: tuple[Measured, ...]

    @property
    def faster(self) -> str:
        """``first``, ``second``, or ``neither`` if no round says so, or not all do."""
        return verdict_of(self.rounds)

    @classmethod
    def of(cls, rounds: Sequence[Turns]) -> TwoTimes:
        """Returns the times of two programs, and a control, from the turns of each round."""
        turns = joined(rounds)
        first, second = (Interval.of_median(column.tolist()) for column in turns.seconds.T[:2])
        return cls((first, second), Measured.of(turns), tuple(map(Measured.of, rounds)))

    def to_json(self) -> dict[str, Any]:
        """Returns the times as a JSON object."""
        measured = self.measured
        return {
            "this": self.seconds[0]._asdict(),
            "other": self.seconds[1]._asdict(),
            "measured": asdict(measured),
            "rounds": [asdict(each) for each in self.rounds],
            "faster": {"first": "this", "second": "other"}.get(self.faster, "neither"),
        }


def _reading(sides: Sequence[TimedProcess]) -> Reading:
    """Returns one reading for several processes, of which one works at a time."""
    readings = [side.reading() for side in sides]
    return Reading(
        time.perf_counter_ns(),
        sum(reading.ran for reading in readings),
        sum(reading.waited for reading in readings),
        max(reading.throttled for reading in readings),
        min(reading.cpus for reading in readings),
        readings[-1].idle,
    )
