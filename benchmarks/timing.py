"""Times calls that take turns in rounds, and compares them round by round.

A machine is faster at one moment than at the next. Two calls that take turns meet the same
moments, so the ratio of their times within a round holds where the times themselves do not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hlograph.timing.runs import without_collector

Clock = Callable[[], float]


class Spread(NamedTuple):
    """Median and quartiles of the repeats of a measurement."""

    median: float
    low: float
    high: float


def spread(values: Iterable[float]) -> Spread:
    """Returns the median and the quartiles of at least one value."""
    low, median, high = np.quantile(list(values), (0.25, 0.5, 0.75))
    return Spread(float(median), float(low), float(high))


def over_fewest(
    speeds: Mapping[int, Sequence[float]],
) -> Iterator[tuple[int, int, Spread]]:
    """Yields ratios of speeds to that of the smallest number of workers, round by round.

    Yields:
        The number, the smallest one, and the ratio.
    """
    fewest = min(speeds)
    for count, found in speeds.items():
        if count != fewest:
            yield count, fewest, spread(_quotients(found, speeds[fewest]))


@dataclass(frozen=True)
class Call:
    """Call to time."""

    run: Callable[[Any], object]
    """Function that is timed; its argument is the result of `prepare`."""
    prepare: Callable[[], Any] = lambda: None
    """Function that makes the argument of one measurement; it is not timed."""
    number: int = 1
    """Calls in one measurement, more than 1 for very short calls; all share one `prepare`."""


@dataclass(frozen=True)
class Timings:
    """Seconds of calls, by name and round."""

    seconds: Mapping[str, Sequence[float]]

    def of(self, name: str, scale: float = 1.0) -> Spread:
        """Returns the seconds of one call, times `scale`."""
        return spread(scale * value for value in self.seconds[name])

    def ratio(self, name: str, over: str) -> Spread:
        """Returns the ratio of two calls' times, round by round."""
        return spread(_quotients(self.seconds[name], self.seconds[over]))


def interleaved(
    calls: Mapping[str, Call],
    rounds: int,
    budget: float = float("inf"),
    clock: Clock = time.perf_counter,
) -> Timings:
    """Times calls in turns, after one untimed turn of each.

    Each round begins with another call, so that none always follows the same one.

    Args:
        calls: The calls, by name.
        rounds: Rounds at most.
        budget: Seconds after which no round begins; there are at least two.
        clock: Tells seconds.

    Raises:
        ValueError: No round was asked for.
    """
    if rounds < 1:
        raise ValueError(f"expected at least 1 round, got {rounds}")
    names = list(calls)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for call in calls.values():
        call.run(call.prepare())
    start = clock()
    with without_collector():
        for number in range(rounds):
            if number >= 2 and clock() - start > budget:
                break
            first = number % len(names)
            for name in names[first:] + names[:first]:
                seconds[name].append(_seconds(calls[name], clock))
    return Timings(seconds)


def _seconds(call: Call, clock: Clock) -> float:
    """Returns the seconds of one call."""
    prepared = call.prepare()
    start = clock()
    for _ in range(call.number):
        call.run(prepared)
    return (clock() - start) / call.number


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
