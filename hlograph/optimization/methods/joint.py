"""Joint search over flags, layouts, fusion and kernels, on top of the fastest rules so far."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from hlograph.optimization.methods.coordinate import Coordinate, Gains, Kind
from hlograph.optimization.methods.evolution import Evolution
from hlograph.optimization.methods.knob_search import KnobSearch, PointSpeed, Space
from hlograph.plans.knobs import Knob, Point

# Mean gains of single values on 15 programs of the train split: the logarithm of the ratio, if it
# is above 1, over the share of the time that the knob is about. Other kinds brought less, or
# nothing, as layouts did.
_PRIORS: Mapping[Kind, float] = {
    ("kernel", "one-kernel"): 0.5,
    ("flags", "xla_cpu_small_while_loop_byte_threshold"): 0.29,
    ("kernel", "library"): 0.11,
    ("kernel", "partitions"): 0.1,
    ("fusion", "unfuse"): 0.08,
    ("flags", "xla_cpu_experimental_ynn_fusion_type"): 0.04,
    ("flags", "xla_cpu_multi_thread_eigen"): 0.04,
    ("flags", "xla_cpu_disable_tiled_emitter"): 0.03,
    ("flags", "xla_cpu_disable_new_fusion_emitters"): 0.03,
    ("flags", "xla_cpu_use_multi_output_fusion"): 0.03,
    ("flags", "xla_cpu_prefer_vector_width"): 0.02,
    ("fusion", "fuse"): 0.02,
}
_OTHERS = 0.01


class JointSearch(KnobSearch):
    """Coordinate search and evolution in turns, which both know all results.

    It changes choices of the fastest plans so far, one or several at a time. Choices about much of
    the time come first, by what their kind brings in this program and brought in others.

    Coordinate search finds what helps alone; evolution finds what helps together, and gains too
    small to be seen one by one. It draws nothing around the default first: of a few plans, as many
    as there are seconds for, each is to be better than the fastest one. Evolution changes the knobs
    of the fastest point's version only: to list those of each parent's version would take a
    compilation and a profile.

    Args:
        space: The space.
        seed: Seed of the evolution.
    """

    name = "joint"

    def __init__(self, space: Space, seed: int = 0) -> None:
        super().__init__(space, seed)
        self._fastest, self._ratio = Point(), 1.0
        self._searches: deque[KnobSearch] = deque(
            [
                Coordinate(space, seed, gains=Gains(_PRIORS, _OTHERS)),
                Evolution(self, seed, initial=1),
            ]
        )

    def knobs(self, point: Point) -> Sequence[Knob]:
        """Returns the knobs of the fastest point, whatever point is asked about."""
        del point
        return self._space.knobs(self._fastest)

    def propose(self) -> Point | None:
        """Returns the next point; None if there is none now."""
        for _ in range(len(self._searches)):
            point = self._searches[0].propose()
            self._searches.rotate()
            if point is not None:
                return point
        return None

    def note(self, point: Point, result: PointSpeed) -> None:
        """Takes note of a point's result."""
        if result.ratio > self._ratio:
            self._fastest, self._ratio = point, result.ratio
        for search in self._searches:
            search.note(point, result)
