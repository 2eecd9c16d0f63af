"""The curve of a race: what it has found by when."""

from collections.abc import Sequence

from experiments.speed.results import CurvePoint
from hlograph.measuring.trial import Outcome
from hlograph.optimization.leading import leads
from hlograph.optimization.race import Watch, unwatched


class Curve:
    """Takes note of the outcomes of a race.

    Args:
        watch: Function that is told of each outcome, too, after its point was added.
    """

    def __init__(self, watch: Watch = unwatched) -> None:
        self._watch = watch
        self.points: list[CurvePoint] = []

    def __call__(self, outcomes: Sequence[Outcome], best: Outcome) -> None:
        """Adds a point for the newest outcome."""
        newest = outcomes[-1]
        screened, confirmed = self.points[-1][2:] if self.points else (1.0, 1.0)
        if not newest.thorough:
            screened = max(screened, newest.ratio)
        elif leads(newest):
            confirmed = max(confirmed, newest.ratio)
        self.points.append(CurvePoint(newest.when, len(outcomes), screened, confirmed))
        self._watch(outcomes, best)
