"""Evolution whose proposals a learned cost model chooses from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import Protocol, cast

import numpy as np

from experiments.cost_model.predictor import SHIPPED, Predictor
from hlograph.errors import HloError
from hlograph.profiling.kernel_modules import KernelModule
from hlograph.tuning.flag_knobs import flags_of
from hlograph.tuning.knobs import STAGES, Knob, Point, Stage
from hlograph.tuning.searcher import Result, Space
from hlograph.tuning.searchers import Evolution

_DRAWN = 4
"""New points for each proposal. To predict one takes a tenth of the time to measure one."""

_CHANCE = 0.1
"""Probability of a proposal by chance, which shows where the model is wrong."""


class KernelSpace(Space, Protocol):
    """A space that knows the kernels of its points, such as ``ProgramSpace``."""

    def knobs(self, point: Point) -> Sequence[Knob]:
        """Returns the knobs of the program when it is compiled as a point says."""
        ...

    def kernels(self, point: Point) -> list[KernelModule]:
        """Returns the kernels of the program when it is compiled as a point says."""
        ...


class Guided:
    """Proposes those points of an evolution that a cost model predicts to be fastest.

    Each proposal is chosen among some new points and all that were not chosen before. What the
    model predicts is not told to the evolution: parents are measured points.

    Args:
        space: The space, a ``KernelSpace``.
        seed: Seed of all draws.
        start: Point to begin with.
        stages: Stages whose knobs are changed.
        predictor: The model; None takes the one that comes with the project.
    """

    def __init__(
        self,
        space: Space,
        seed: int = 0,
        *,
        start: Point = Point(),  # noqa: B008 (points are frozen)
        stages: Collection[Stage] = STAGES,
        predictor: Predictor | None = None,
    ) -> None:
        self._space = cast(KernelSpace, space)
        self._predictor = predictor or _shipped()
        self._evolution = Evolution(space, seed, start=start, stages=stages)
        self._random = np.random.default_rng(seed)
        self._waiting: dict[Point, float] = {}
        self._start = start

    def ask(self) -> Point | None:
        """Returns a point that is not known; None if the evolution has no others."""
        new = [point for _ in range(_DRAWN) if (point := self._evolution.ask()) is not None]
        if self._start in new:
            self._waiting |= {point: self._predicted(point) for point in new[1:]}
            return self._start
        self._waiting |= {point: self._predicted(point) for point in new}
        if not self._waiting:
            return None
        if new and self._random.random() < _CHANCE:
            chosen = new[0]
        else:
            chosen = min(self._waiting, key=lambda point: self._waiting[point])
        del self._waiting[chosen]
        return chosen

    def tell(self, point: Point, result: Result) -> None:
        """Takes note of a point's result, also of one that it has not proposed."""
        self._waiting.pop(point, None)
        self._evolution.tell(point, result)

    def _predicted(self, point: Point) -> float:
        """Returns the predicted seconds; infinity if the point does not compile."""
        try:
            kernels = self._space.kernels(point)
            return self._predictor(kernels, flags_of(point.at("flags"))).seconds
        except HloError:
            return float("inf")


@cache
def _shipped() -> Predictor:
    return Predictor.load(SHIPPED)
