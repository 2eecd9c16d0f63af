"""Values with their intervals: bootstrap intervals of ratios, quartiles of times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

_RESAMPLES = 2_000
_BLOCK = 1 << 22  # values drawn at a time, so that long lists do not take gigabytes


def bootstrap_interval(
    values: Sequence[float],
    confidence: float = 0.95,
    seed: int = 0,
    statistic: Literal["geometric mean", "median"] = "geometric mean",
) -> tuple[float, float]:
    """Returns the percentile bootstrap interval of a mean (Efron and Tibshirani 1993, 13.3).

    Args:
        values: Ratios, not negative; a geometric mean of a sample with a 0 in it is 0.
        confidence: Probability that the interval is to cover, such as 0.95.
        seed: Seed of the resampling.
        statistic: Whose interval it is.

    Returns:
        Lower and upper bound; (nan, nan) of no values.
    """
    if not values:
        return math.nan, math.nan
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(np.asarray(values, dtype=float), 0.0))
    random = np.random.default_rng(seed)
    rows = max(1, _BLOCK // len(logs))
    means = []
    for begin in range(0, _RESAMPLES, rows):
        drawn = random.integers(0, len(logs), (min(rows, _RESAMPLES - begin), len(logs)))
        means += [np.median(logs[drawn], 1) if statistic == "median" else logs[drawn].mean(1)]
    tail = (1 - confidence) / 2
    # Of the sorted means, not between two of them: half of minus infinity and something is nan.
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail], method="nearest")
    return math.exp(low), math.exp(high)


class Interval(NamedTuple):
    """A value with its interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of_median(cls, ratios: Sequence[float]) -> Interval:
        """Returns the median of ratios, and its 95 % bootstrap interval."""
        return cls(float(np.median(ratios)), *bootstrap_interval(ratios, statistic="median"))

    @classmethod
    def quartiles(cls, values: Iterable[float]) -> Interval:
        """Returns the median and the quartiles of at least one value."""
        low, median, high = np.quantile(list(values), (0.25, 0.5, 0.75))
        return cls(float(median), float(low), float(high))
