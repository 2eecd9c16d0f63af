"""Plans that are predicted to be fastest: before anything is measured, and beside the fastest."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from hlograph.errors import HloError
from hlograph.optimization.methods.knob_search import KnobSearch, PointSpeed
from hlograph.optimization.program_space import ProgramSpace
from hlograph.plans.knobs import Point


class Predicted(KnobSearch):
    """Proposes the point that is predicted to be fastest, then the decisions that bring most alone.

    Trees predict them (``hlograph.decisions.predicted_gains.promising_points``) in the process of
    the space, while plans of other methods are measured.

    Args:
        space: The space.
        seed: Is not used.
        goes_on: True predicts the same beside the fastest point so far, whenever that is another.
    """

    name = "predicted"
    waits_for = 0

    def __init__(self, space: ProgramSpace, seed: int = 0, *, goes_on: bool = False) -> None:
        super().__init__(space, seed)
        self._goes_on, self._start = goes_on, Point()
        self._thread = ThreadPoolExecutor(1, "predicted")
        self._found = self._predict()

    @property
    def ready(self) -> bool:
        """False while points beside the default are predicted."""
        return self._found.done() or self._start != Point()

    @property
    def comes_first(self) -> bool:
        """True while it is not ready, and while it has points to propose; see ``Method``."""
        if not self._found.done():
            return not self.ready
        # An error is raised where points are asked for.
        return self._found.exception() is not None or bool(self._found.result())

    def propose(self) -> Point | None:
        """Returns the next point, and waits for the first one; None if there is no other now."""
        points = self._found.result() if self.comes_first else []
        while points:
            if self._memory.is_new(point := points.pop(0)):
                return self._memory.propose(point)
        return None

    def note(self, point: Point, result: PointSpeed) -> None:
        """Takes note of a point's result, and predicts beside the fastest one if it is idle."""
        super().note(point, result)
        if self._goes_on and self._memory.best != self._start and self._found.done():
            self._start = self._memory.best
            self._found = self._predict()

    def close(self) -> None:
        """Ends the process of the space; nothing is predicted from then on."""
        self._goes_on = False
        super().close()
        self._thread.shutdown()

    def _predict(self) -> Future[list[Point]]:
        return self._thread.submit(self._promising, self._start)

    def _promising(self, start: Point) -> list[Point]:
        try:
            return self._programs.promising_points(start)
        except HloError:
            return []
