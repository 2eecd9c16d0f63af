"""Plans that are predicted to be fastest, before anything is measured."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from hlograph.errors import HloError
from hlograph.optimization.methods.knob_search import KnobSearch
from hlograph.optimization.program_space import ProgramSpace
from hlograph.plans.knobs import Point


class Predicted(KnobSearch):
    """Proposes the point that is predicted to be fastest, then the decisions that bring most alone.

    Trees predict them (``hlograph.decisions.predicted_gains.promising_points``) in the process of
    the space, while plans of other methods are measured.

    Args:
        space: The space.
        seed: Is not used.

    Attributes:
        comes_first: True until all were proposed; see ``hlograph.optimization.methods.Method``.
    """

    name = "predicted"
    waits_for = 0

    def __init__(self, space: ProgramSpace, seed: int = 0) -> None:
        super().__init__(space, seed)
        self._thread = ThreadPoolExecutor(1, "predicted")
        self._found: Future[list[Point]] = self._thread.submit(self._find)

    @property
    def ready(self) -> bool:
        """False while the points are predicted."""
        return self._found.done()

    @property
    def comes_first(self) -> bool:
        """True until all points were proposed."""
        return not self.ready or bool(self._found.result())

    def propose(self) -> Point | None:
        """Returns the next point, and waits for the first one; None if there is no other."""
        points = self._found.result()
        return points.pop(0) if points else None

    def close(self) -> None:
        """Ends the process of the space."""
        super().close()
        self._thread.shutdown()

    def _find(self) -> list[Point]:
        try:
            return self._programs.promising_points()
        except HloError:
            return []
