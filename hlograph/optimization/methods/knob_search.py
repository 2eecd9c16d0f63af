"""Searches over the knobs of a program: they list plans, and are told outcomes."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple, Protocol, Self

from hlograph.errors import HloError
from hlograph.measuring.trial import PlanMeasurement
from hlograph.measuring.worker import UNCHANGED
from hlograph.optimization.methods import PlanSearch
from hlograph.optimization.program_space import ProgramSpace
from hlograph.plans import Numerics, Plan, Program
from hlograph.plans.knobs import Knob, Point

# Points in a row that lead to no new plan, after which a search has ended.
_MOST_KNOWN = 100

LEAD = 1.03
"""A point with a ratio this many times the best's is better, even if the interval is wide."""


class PointSpeed(NamedTuple):
    """The measured speed of a point.

    Attributes:
        ratio: Time of jaxlib's default over that of the point; 0 if it could not be timed.
        low: Lower end of the 95 % interval of the ratio.
        high: Upper end.
    """

    ratio: float
    low: float = 0.0
    high: float = float("inf")

    @property
    def is_bad(self) -> bool:
        """True if the point could not be timed."""
        return not self.ratio > 0

    def is_better(self, best: PointSpeed) -> bool:
        """Returns True if this result is clearly better than that of the best point.

        The interval must lie above the best's ratio, or the ratio must be 3 % above it.
        """
        return not self.is_bad and (self.low > best.ratio or self.ratio > LEAD * best.ratio)

    @classmethod
    def of(cls, outcome: PlanMeasurement) -> PointSpeed:
        """Returns the result of an outcome; a plan that changes no code is as fast as jaxlib's."""
        if outcome.measured is not None:
            return cls(outcome.measured.ratio, outcome.measured.low, outcome.measured.high)
        return DEFAULT_RESULT if outcome.error == UNCHANGED else cls(0.0)


DEFAULT_RESULT = PointSpeed(1.0, 1.0, 1.0)
"""Result of jaxlib's default, which is 1 by definition."""


class Space(Protocol):
    """Knobs of one program. Which ones there are may depend on the others."""

    def knobs(self, point: Point) -> Sequence[Knob]:
        """Returns the knobs that the program has when it is compiled as a point says.

        A knob that depends on others, such as the fusion of what a rewrite has made, is there if
        the point sets those. This may take seconds, for a point whose steps, layouts or flags were
        not seen before. Lists are cached by point.

        Raises:
            HloError: The program cannot be compiled so.
        """
        ...


class SearchHistory:
    """Points that were proposed or told, and the best one of those that were told.

    The default point is known from the beginning, so that it is never proposed.

    Attributes:
        told: The results by point, in the order in which they were told first.
        best: The best point.
    """

    def __init__(self) -> None:
        self.told: dict[Point, PointSpeed] = {Point(): DEFAULT_RESULT}
        self.best = Point()
        self._pending: set[Point] = set()

    @property
    def best_result(self) -> PointSpeed:
        """The result of the best point."""
        return self.told[self.best]

    def is_new(self, point: Point) -> bool:
        """Returns True if a point was neither proposed nor told."""
        return point not in self.told and point not in self._pending

    def propose(self, point: Point) -> Point:
        """Returns the point, and takes note that it was proposed."""
        self._pending.add(point)
        return point

    def tell(self, point: Point, result: PointSpeed) -> None:
        """Takes note of a point's result, which replaces an earlier one."""
        self._pending.discard(point)
        fell = point == self.best and not result.ratio >= self.best_result.ratio
        self.told[point] = result
        if fell:
            self._choose_again()
        elif result.is_better(self.best_result):
            self.best = point

    def good(self) -> Iterator[tuple[Point, PointSpeed]]:
        """Yields the points that could be timed, with their results."""
        return ((point, result) for point, result in self.told.items() if not result.is_bad)

    def _choose_again(self) -> None:
        self.best = Point()
        for point, result in self.told.items():
            if result.is_better(self.best_result):
                self.best = point


class KnobSearch(PlanSearch):
    """A method of ``hlograph.optimize`` that searches over the knobs of a program.

    A subclass says which point comes next (``propose``) and what it learns from a result
    (``note``). It learns from all outcomes whose plans have only steps and flags, whoever proposed
    them, so that it goes on from the fastest one.

    A search waits for some outcomes of other methods: to list the knobs takes as long as to measure
    two plans.

    Args:
        space: The space; plans are made by a ``ProgramSpace`` alone.
        seed: Seed of all draws.
    """

    name: ClassVar[str]
    """Name of the method in reports."""

    waits_for: int = 6
    """Outcomes that it waits for; see ``hlograph.optimization.methods.Method``."""

    def __init__(self, space: Space, seed: int = 0) -> None:
        del seed  # of the searches that draw
        self._space = space
        self._memory = SearchHistory()
        self._lists: dict[Point, tuple[Knob, ...]] = {}
        self._points: dict[str, list[Point]] = {}
        self._results: dict[str, PointSpeed] = {Plan().digest: DEFAULT_RESULT}

    @classmethod
    def of_program(cls, program: Program, numerics: Numerics, seed: int = 0) -> Self:
        """Returns the search over the knobs of a program.

        Args:
            program: The program.
            numerics: Class of the results.
            seed: Seed of all draws.
        """
        return cls(ProgramSpace(program, numerics), seed)

    @abstractmethod
    def propose(self) -> Point | None:
        """Returns the next point; None if it has none, or none until it is told more."""

    def note(self, point: Point, result: PointSpeed) -> None:
        """Takes note of a point's result, also of one that it has not proposed."""
        self._memory.tell(point, result)

    def _next(self) -> Plan | None:
        """Returns the plan of the next point; None if there is none now.

        A point whose plan cannot be made counts as measured, and one with the plan of another point
        has its result.
        """
        for _ in range(_MOST_KNOWN + len(self._results)):
            point = self.propose()
            if point is None:
                return None
            plan = self._plan(point)
            if plan is None:
                self.note(point, PointSpeed(0.0))
            elif plan.digest in self._results:
                self.note(point, self._results[plan.digest])
            else:
                proposed = plan.digest in self._points
                self._points.setdefault(plan.digest, []).append(point)
                if not proposed:
                    return plan
        return None

    def _take(self, result: PlanMeasurement) -> None:
        """Takes note of an outcome, as the speed of all points that have its plan."""
        plan = result.plan
        if result.thorough and (result.measured is not None or result.accident):
            return  # a screening has told its speed
        speed = self._results[plan.digest] = PointSpeed.of(result)
        points = self._points.get(plan.digest, [])
        if not (points or plan.layouts or plan.placements):
            points = [self._programs.point_of(plan)]
        for point in points:
            self.note(point, speed)

    def close(self) -> None:
        """Ends the process that lists knobs and makes plans."""
        self._programs.close()

    def _knobs_at(self, point: Point) -> tuple[Knob, ...]:
        """Returns the knobs of a point that have values to choose from; none if it has no list."""
        try:
            knobs = self._space.knobs(point)
        except HloError:
            knobs = ()
        listed = self._lists[point.version] = tuple(knob for knob in knobs if knob.values)
        return listed

    def _known_knobs(self, point: Point) -> tuple[Knob, ...]:
        """Returns the knobs of a point that were asked for before; none if they were not."""
        return self._lists.get(point.version, ())

    @property
    def _programs(self) -> ProgramSpace:
        if not isinstance(self._space, ProgramSpace):
            raise TypeError(f"expected a ProgramSpace to make plans, got {self._space!r}")
        return self._space

    def _plan(self, point: Point) -> Plan | None:
        try:
            plan = self._programs.plan(point)
        except HloError:
            return None
        return replace(plan, method=f"{self._proposer(point)}: {_words(plan)}")

    def _proposer(self, point: Point) -> str:
        """Returns the name of the method that proposes a point, for reports."""
        del point
        return self.name


def _words(plan: Plan) -> str:
    """Returns what a plan decides in few words, such as ``1 flags, 2 unfuse``."""
    counts = Counter(placement.decision for placement in plan.placements)
    numbers = {"steps": len(plan.steps), "layouts": len(plan.layouts), "flags": len(plan.flags)}
    words = (f"{count} {name}" for name, count in {**numbers, **counts}.items() if count)
    return ", ".join(words)
