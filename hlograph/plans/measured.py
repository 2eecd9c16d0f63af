"""The speed of a plan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """Speed of a plan, measured in turns with jaxlib's default.

    Attributes:
        default_seconds: Median time of one run of the default.
        seconds: Median time of one run with the plan.
        ratio: Median of the ratios default / plan, pair by pair: above 1, the plan is faster.
        low: Lower end of the 95 % bootstrap interval of that median.
        high: Upper end.
        control: Same ratio of the default and the default compiled again.
        pairs: Number of pairs.
    """

    default_seconds: float
    seconds: float
    ratio: float
    low: float
    high: float
    control: float
    pairs: int

    def __str__(self) -> str:
        return f"{self.ratio:.3f} times as fast ({self.low:.3f} to {self.high:.3f})"
