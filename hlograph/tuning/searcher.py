"""The interface of searchers over knobs, by ask and tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from hlograph.tuning.knobs import Knob, Point


class Result(NamedTuple):
    """The measured speed of a point.

    Attributes:
        ratio: Time of jaxlib's default over that of the point; 0 if it could not be timed.
        low: Lower end of the 95 % interval of the ratio.
        high: Upper end.
    """

    ratio: float
    low: float = 0.0
    high: float = float("inf")


class Space(Protocol):
    """Knobs of one program. Which ones there are may depend on the others."""

    def knobs(self, point: Point) -> Sequence[Knob]:
        """Returns the knobs that the program has when it is compiled as a point says.

        A knob that depends on others, such as the fusion of what a rewrite has made, is there if
        the point sets those. This may take seconds, for a point whose steps, layouts or flags were
        not seen before. A list is remembered.

        Raises:
            HloError: The program cannot be compiled so.
        """
        ...


class Searcher(Protocol):
    """Proposes points of a space, and is told what was measured."""

    def ask(self) -> Point | None:
        """Returns the next point to measure; None if it has none, or none until it is told more."""
        ...

    def tell(self, point: Point, result: Result) -> None:
        """Takes note of a point's result, also of one that it has not proposed."""
        ...


MakeSearcher = Callable[[Space, int], Searcher]
"""Function that makes a searcher for a space and a seed."""
