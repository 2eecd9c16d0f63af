"""Curves of a race for TensorBoard."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from torch.utils.tensorboard.writer import SummaryWriter

from experiments.speed.curve import Curve
from hlograph.measuring.trial import Outcome


class Board:
    """Writes the curves of one race, over its plans and over its milliseconds.

    TensorBoard's steps are whole numbers; seconds would put many plans at one place.

    Args:
        folder: Folder of the event file. What a race that was cut off has left there is removed.
    """

    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self._writer = SummaryWriter(str(folder))
        self._curve = Curve()

    def __call__(self, outcomes: Sequence[Outcome], best: Outcome) -> None:
        """Writes what the newest outcome has changed."""
        self._curve(outcomes, best)
        point = self._curve.points[-1]
        values = {"best": point.best, "confirmed": point.confirmed}
        if not outcomes[-1].thorough:
            values["screening"] = outcomes[-1].ratio
        for name, value in values.items():
            self._writer.add_scalar(f"{name}/plans", value, point.plans)
            self._writer.add_scalar(f"{name}/milliseconds", value, round(1000 * point.seconds))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._writer.close()
