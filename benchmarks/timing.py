"""Times calls in turns (`hlograph.execution.turns`), compares them, and shows how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from tqdm import tqdm

from benchmarks.results import Aim, Figure
from hlograph.execution.bootstrap import Interval
from hlograph.execution.turns import Block, in_turns, without_collector

Clock = Callable[[], float]
Item = TypeVar("Item")


def over_fewest(
    speeds: Mapping[int, Sequence[float]],
) -> Iterator[tuple[int, int, Interval]]:
    """Yields ratios of speeds to that of the smallest number of workers, round by round.

    Yields:
        The number, the smallest one, and the ratio.
    """
    fewest = min(speeds)
    for count, values in speeds.items():
        if count != fewest:
            yield count, fewest, Interval.quartiles(_quotients(values, speeds[fewest]))


@dataclass(frozen=True)
class Call:
    """Call to time."""

    run: Callable[[Any], object]
    """Function that is timed; its argument is the result of `prepare`."""
    prepare: Callable[[], Any] = lambda: None
    """Function that makes the argument of one measurement; it is not timed."""
    number: int = 1
    """Calls in one measurement, more than 1 for very short calls; all share one `prepare`."""

    def timed(self, clock: Clock) -> Block:
        """Returns the function that times so many calls."""

        def seconds(number: int) -> float:
            prepared = self.prepare()
            start = clock()
            for _ in range(number):
                self.run(prepared)
            return (clock() - start) / number

        return seconds


@dataclass(frozen=True)
class Timings:
    """Seconds of calls, by name and round, and the column of their figures."""

    seconds: Mapping[str, Sequence[float]]
    column: str = ""

    def of(self, name: str, scale: float = 1.0) -> Interval:
        """Returns the seconds of one call, times `scale`."""
        return Interval.quartiles(scale * value for value in self.seconds[name])

    def ratio(self, name: str, over: str) -> Interval:
        """Returns the ratio of two calls' times, round by round."""
        return Interval.quartiles(_quotients(self.seconds[name], self.seconds[over]))

    def ms(self, row: str, name: str, aim: Aim | None = None) -> Figure:
        """Returns the figure of one call's milliseconds."""
        return Figure.of(row, self.column, self.of(name, 1e3), "ms", aim)

    def times(self, row: str, name: str, over: str, aim: Aim | None = None) -> Figure:
        """Returns the figure of the ratio of two calls' times."""
        return Figure.of(row, self.column, self.ratio(name, over), "x", aim)


def interleaved(
    calls: Mapping[str, Call],
    rounds: int,
    budget: float = float("inf"),
    clock: Clock = time.perf_counter,
    column: str = "",
) -> Timings:
    """Times calls in turns, after one untimed turn of each.

    Each round begins with another call, so that none always follows the same one.

    Args:
        calls: The calls, by name.
        rounds: Rounds at most.
        budget: Seconds after which no round begins; there are at least two.
        clock: Tells seconds.
        column: Column of the figures.

    Raises:
        ValueError: No round was asked for.
    """
    if rounds < 1:
        raise ValueError(f"expected at least 1 round, got {rounds}")
    for call in calls.values():
        call.run(call.prepare())
    turns = in_turns(
        [call.timed(clock) for call in calls.values()],
        calls=[call.number for call in calls.values()],
        turns=rounds,
        max_seconds=budget,
        least=min(rounds, 2),
        clock=clock,
    )
    return Timings(dict(zip(calls, turns.seconds.T.tolist(), strict=True)), column)


def within(budget: float, rounds: int) -> Iterator[int]:
    """Counts rounds, at least two and until so many seconds have passed, without the collector."""
    with without_collector():
        begun = time.perf_counter()
        for number in range(rounds):
            if number >= 2 and time.perf_counter() - begun > budget:
                break
            yield number


def beside(step: Callable[[], object], alone: Callable[[], object], number: int) -> list[float]:
    """Returns the seconds of a step, and of the same without what is around it.

    Steps of odd numbers have the second before the first.
    """
    seconds = [0.0, 0.0]
    for which in (number % 2, 1 - number % 2):
        start = time.perf_counter()
        (step, alone)[which]()
        seconds[which] = time.perf_counter() - start
    return seconds


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Fits the exponent of a power law: 1 is linear growth, 2 quadratic.

    Raises:
        ValueError: There are fewer than two sizes, or a size or value is not positive.
    """
    if len(sizes) < 2 or len(sizes) != len(values):
        raise ValueError(f"expected two sizes or more, a value each, got {sizes} and {values}")
    if min(*sizes, *values) <= 0:
        raise ValueError(f"expected positive numbers, got {sizes} and {values}")
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def _quotients(values: Sequence[float], over: Sequence[float]) -> list[float]:
    return [a / b for a, b in zip(values, over, strict=True)]


def tracked(items: Sequence[Item], unit: str = "size") -> Iterable[Item]:
    """Iterates over the parts of a group, behind a bar that appears after ten seconds.

    Args:
        items: Parts of the group, such as the sizes of modules.
        unit: Name of a part.
    """
    return tqdm(items, unit=unit, delay=10.0, leave=False, disable=None, dynamic_ncols=True)
