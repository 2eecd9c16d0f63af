"""The best ratio of a race over time, and how far its final agrees with its screenings."""

import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from experiments.tune.results import CurvePoint
from hlograph.measuring.trial import PlanMeasurement
from hlograph.optimization.leading import leads


class Curve:
    """Takes note of the outcomes of a race, and shows them in TensorBoard.

    TensorBoard's steps are whole numbers, so there are curves over the plans and over the
    milliseconds of the race; seconds would put many plans at one step.

    Args:
        board: Folder of TensorBoard's event file, of which what a race that was cut off has
            written there is removed; None writes none.
    """

    def __init__(self, board: Path | None = None) -> None:
        self.points: list[CurvePoint] = []
        self._writer = None
        if board is not None:
            # TensorBoard's own writer: the races need no torch.
            from tensorboard.summary.writer.event_file_writer import EventFileWriter

            shutil.rmtree(board, ignore_errors=True)
            self._writer = EventFileWriter(str(board))

    def __call__(self, outcomes: Sequence[PlanMeasurement], best: PlanMeasurement) -> None:
        """Adds a point for the newest outcome."""
        del best
        newest = outcomes[-1]
        screened, confirmed = self.points[-1][2:] if self.points else (1.0, 1.0)
        if not newest.thorough:
            screened = max(screened, newest.ratio)
        elif leads(newest):
            confirmed = max(confirmed, newest.ratio)
        self.points.append(CurvePoint(newest.when, len(outcomes), screened, confirmed))
        self._show(newest)

    def close(self) -> None:
        """Ends the event file."""
        if self._writer is not None:
            self._writer.close()

    def _show(self, newest: PlanMeasurement) -> None:
        if self._writer is None:
            return
        point = self.points[-1]
        values = {"best": point.best, "confirmed": point.confirmed}
        if not newest.thorough:
            values["screening"] = newest.ratio
        for axis, step in (("plans", point.plans), ("milliseconds", round(1000 * point.seconds))):
            self._write({f"{name}/{axis}": value for name, value in values.items()}, step)

    def _write(self, values: Mapping[str, float], step: int) -> None:
        from tensorboard.compat.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]
        from tensorboard.compat.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue]

        assert self._writer is not None
        shown = [Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
        summary = Summary(value=shown)
        self._writer.add_event(Event(wall_time=time.time(), step=step, summary=summary))


def agreement(races: Iterable[Sequence[PlanMeasurement]]) -> str:
    """Returns a sentence about how far finals agree with screenings.

    Args:
        races: Outcomes of races.
    """
    shares: list[float] = []
    kept = 0
    for outcomes in races:
        screened = {each.plan.digest: each.ratio for each in outcomes if not each.thorough}
        for final in outcomes:
            if final.thorough and final.measured and screened.get(final.plan.digest):
                shares.append(final.ratio / screened[final.plan.digest])
                kept += leads(final)
    if not shares:
        return "No plan was in a final."
    low, median, high = np.quantile(shares, (0.25, 0.5, 0.75))
    return (
        f"In {len(shares)} measurements of finals, plans had {median:.2f} times the ratio of their "
        f"screening in the median (quartiles {low:.2f} and {high:.2f}); {kept} kept a lead."
    )
