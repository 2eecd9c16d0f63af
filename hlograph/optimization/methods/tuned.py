"""Searches over the knobs of a program, as methods of ``hlograph.optimize``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from hlograph.errors import HloError
from hlograph.measuring.trial import Outcome
from hlograph.measuring.worker import UNCHANGED
from hlograph.optimization.methods.protocol import MakeMethod, Method
from hlograph.plans import Numerics, Plan
from hlograph.programs import Program
from hlograph.tuning.knobs import Point
from hlograph.tuning.searcher import Result, Searcher
from hlograph.tuning.space import ProgramSpace

# Proposals in a row that are no new plans, after which a search has ended.
_MOST_KNOWN = 100

_EQUAL = Result(1.0, 1.0, 1.0)

MakeProgramSearcher = Callable[[ProgramSpace, int], Searcher]
"""Function that makes a searcher for the space of a program and a seed."""


class Tuned:
    """Proposes the plans of the points that a searcher asks for.

    The searcher learns from all outcomes whose plans have only steps and flags, whoever proposed
    them, so that it goes on from the fastest one.

    It waits for some outcomes of other methods: to list the knobs takes as long as to measure two
    plans.

    Args:
        name: Name of the method in reports.
        make: Makes the searcher.
        program: The program.
        numerics: Class of the results.
        seed: Seed of the searcher.
    """

    waits_for = 6

    def __init__(
        self,
        name: str,
        make: MakeProgramSearcher,
        program: Program,
        numerics: Numerics,
        seed: int = 0,
    ) -> None:
        self._name = name
        self._space = ProgramSpace(program, numerics)
        self._searcher = make(self._space, seed)
        self._points: dict[str, list[Point]] = {}
        self._results: dict[str, Result] = {Plan().digest: _EQUAL}

    def ask(self) -> Plan | None:
        """Returns the plan of the next point; None if there is none now.

        A point whose plan cannot be made counts as measured, and one with the plan of another point
        has its result.
        """
        for _ in range(_MOST_KNOWN + len(self._results)):
            point = self._searcher.ask()
            if point is None:
                return None
            plan = self._plan(point)
            if plan is None:
                self._searcher.tell(point, Result(0.0))
            elif plan.digest in self._results:
                self._searcher.tell(point, self._results[plan.digest])
            else:
                proposed = plan.digest in self._points
                self._points.setdefault(plan.digest, []).append(point)
                if not proposed:
                    return plan
        return None

    def tell(self, outcome: Outcome) -> None:
        """Tells the searcher of an outcome."""
        plan, measured = outcome.plan, outcome.measured
        if outcome.thorough and (measured is not None or outcome.accident):
            return  # a screening has told its speed
        if measured is not None:
            result = Result(measured.ratio, measured.low, measured.high)
        else:
            result = _EQUAL if outcome.error == UNCHANGED else Result(0.0)
        self._results[plan.digest] = result
        points = self._points.get(plan.digest, [])
        if not (points or plan.layouts or plan.placements):
            points = [self._space.point_of(plan)]
        for point in points:
            self._searcher.tell(point, result)

    def close(self) -> None:
        """Ends the process that lists knobs and makes plans."""
        self._space.close()

    def _plan(self, point: Point) -> Plan | None:
        try:
            plan = self._space.plan(point)
        except HloError:
            return None
        return replace(plan, method=f"{self._name}: {_words(plan)}")


def tuned(name: str, make: MakeProgramSearcher) -> MakeMethod:
    """Returns the function that makes the method of a searcher, also with a ``seed``."""

    def made(program: Program, numerics: Numerics, seed: int = 0) -> Method:
        return Tuned(name, make, program, numerics, seed)

    return made


def _words(plan: Plan) -> str:
    """Returns what a plan decides in few words, such as ``1 flags, 2 unfuse``."""
    counts = Counter(placement.decision for placement in plan.placements)
    numbers = {"steps": len(plan.steps), "layouts": len(plan.layouts), "flags": len(plan.flags)}
    words = (f"{count} {name}" for name, count in {**numbers, **counts}.items() if count)
    return ", ".join(words)
