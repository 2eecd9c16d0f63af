"""Reports the steps of a race, and shows the progress bar of ``hlograph.optimize``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from hlograph.measuring.trial import PlanMeasurement

Watch = Callable[[Sequence[PlanMeasurement], PlanMeasurement], None]
"""Function that is told of each outcome: all so far, from old to new, and the fastest of them."""


def unwatched(outcomes: Sequence[PlanMeasurement], best: PlanMeasurement) -> None:
    """Takes no note of an outcome."""


def best_text(best: PlanMeasurement) -> str:
    """Returns the ratio and the method of the fastest plan."""
    return f"best {best.ratio:.2f} ({best.plan.method})" if best.ratio > 1 else "none faster yet"


class RaceBar:
    """Shows the seconds of the budget, the number of plans, and the best ratio so far.

    Args:
        budget: Seconds of the race.
        show: True shows it, False does not; None shows it on a terminal.
    """

    def __init__(self, budget: float, show: bool | None) -> None:
        self._budget = budget
        self._disable = None if show is None else not show

    def __call__(self, outcomes: Sequence[PlanMeasurement], best: PlanMeasurement) -> None:
        """Shows the number of outcomes and the fastest of them."""
        spent = min(time.monotonic() - self._begun, self._budget)
        self._bar.n = round(spent, 1)
        self._bar.set_postfix_str(f"{len(outcomes)} plans, {best_text(best)}")

    def say(self, sentence: str) -> None:
        """Shows a sentence, whether or not there is a bar."""
        self._bar.write(f"hlograph.optimize: {sentence}", file=sys.stderr)

    def __enter__(self) -> Self:
        from tqdm import tqdm

        self._begun = time.monotonic()
        self._bar: Any = tqdm(
            total=self._budget,
            unit="s",
            desc="optimize",
            disable=self._disable,
            bar_format="{desc}: {bar} {n:.0f}/{total:.0f} s{postfix}",
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.close()
