"""Gains that are expected of values, learned from the results of one program."""

from __future__ import annotations

from collections.abc import Mapping

from hlograph.tuning.knobs import DEFAULT, Knob, Stage, stage_of

Kind = tuple[Stage, str]
"""Kind of a value: its knob's stage, and the name of the flag or the first word of the value."""

_OPTIMISM = 0.3
"""Log ratio that a kind which was never tried promises for a knob of all of the time.

It is more than most values bring, so that each kind is tried before one is tried often.
"""

_WEIGHT = 0.3
"""Share of the time whose results weigh as much as what was known before."""

_LEAST = -0.1
"""Least log ratio that is counted: a value that hurts is not kept, and the next one may help."""


def kind_of(name: str, value: str) -> Kind:
    """Returns the kind of a value of the knob of a name.

    Raises:
        HloError: The name does not begin with a stage.
    """
    stage = stage_of(name)
    if stage == "flags" and value != DEFAULT:
        return stage, name.partition(" ")[2]
    return stage, value.partition(" ")[0]


class Gains:
    """Expected log ratios of values: the knob's share of the time, times a mean by kind of value.

    The mean is that of the log ratios that were told, each over its knob's share and with that
    share as its weight: a result about little of the time says little beside the noise.

    Args:
        priors: Means that are known before, such as those of other programs. They are log ratios
            for a knob of all of the time.
        others: Mean of kinds that are not among them.
    """

    def __init__(
        self, priors: Mapping[Kind, float] | None = None, others: float = _OPTIMISM
    ) -> None:
        self._priors, self._others = dict(priors or {}), others
        self._sums: dict[Kind, float] = {}
        self._shares: dict[Kind, float] = {}

    def mean(self, kind: Kind) -> float:
        """Returns the expected log ratio of a value, for a knob of all of the time."""
        if kind[1] == DEFAULT:
            return 0.0
        known = _WEIGHT * self._priors.get(kind, self._others)
        return (known + self._sums.get(kind, 0.0)) / (_WEIGHT + self._shares.get(kind, 0.0))

    def expected(self, knob: Knob, value: str, current: str) -> float:
        """Returns the expected log ratio of a value over the current one."""
        gain = self.mean(kind_of(knob.name, value)) - self.mean(kind_of(knob.name, current))
        return knob.share * gain

    def tell(self, knob: Knob, value: str, current: str, log_ratio: float | None) -> None:
        """Takes note of what a value in place of another one brought.

        Args:
            knob: The knob.
            value: The value.
            current: The value that it replaced.
            log_ratio: Logarithm of the ratio with it over that without; None if the point could not
                be timed.
        """
        kind = kind_of(knob.name, value)
        if value == DEFAULT:
            return
        known = knob.share * self.mean(kind_of(knob.name, current))
        gain = known + (_LEAST if log_ratio is None else max(log_ratio, _LEAST))
        self._sums[kind] = self._sums.get(kind, 0.0) + gain
        self._shares[kind] = self._shares.get(kind, 0.0) + knob.share
