"""Composes the values that were found for heavy places to plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hlograph.tuning.cutting.places import HeavyPlace
from hlograph.tuning.cutting.timing import CutTime


@dataclass
class TunedPlace:
    """Values that were found for a place.

    Attributes:
        place: The place.
        values: The fastest values of its knobs; empty if none helps.
        time: The last measured speed of the cut, that with the values if there are some.
        trials: Number of values that were timed.
        error: The reason why it was not cut out; empty if it was.
    """

    place: HeavyPlace
    values: Mapping[str, str] = field(default_factory=dict)
    time: CutTime = CutTime(1.0)  # noqa: RUF009 (a named tuple)
    trials: int = 0
    error: str = ""

    @property
    def saved(self) -> float:
        """Share of the program's time that the values are predicted to save."""
        return self.place.share * (1 - 1 / self.time.ratio) if self.values else 0.0


def without_nested(tuned: Sequence[TunedPlace]) -> list[TunedPlace]:
    """Returns places of which none is within another one: a loop, or what is in it.

    What is predicted to save more is kept.

    Args:
        tuned: Places whose values help.
    """
    helped = {one.place.kind: one for one in tuned}
    dropped: set[str] = set()
    for kind, one in sorted(helped.items(), key=lambda item: -len(item[1].place.inside)):
        inside = [helped[k] for k in one.place.inside if k in helped and k not in dropped]
        if kind in dropped or not inside:
            continue
        if one.saved >= sum(other.saved for other in inside):
            dropped |= one.place.inside
        else:
            dropped.add(kind)
    return [one for kind, one in helped.items() if kind not in dropped]
