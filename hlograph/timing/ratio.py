"""The ratio of two runs that were timed in turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hlograph.timing.bootstrap import bootstrap_interval


class MedianRatio(NamedTuple):
    """A median with its bootstrap interval.

    Attributes:
        ratio: Median of the ratios of the turns.
        low: Lower end of its 95 % interval.
        high: Upper end.
    """

    ratio: float
    low: float
    high: float

    @classmethod
    def of(cls, ratios: Sequence[float]) -> MedianRatio:
        """Returns the median of ratios, one for each turn."""
        return cls(float(np.median(ratios)), *bootstrap_interval(ratios, statistic="median"))
