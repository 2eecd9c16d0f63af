"""The interface of methods, which propose plans for a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from hlograph.measuring.trial import PlanMeasurement
from hlograph.plans import Numerics, Plan, Program

HELPS = 1.03
"""Ratio of a plan that helps; below it, plans are within the noise of a screening."""

COLD = 0.02
"""Share of the default's time below which what a plan is about can hardly make it faster."""


class Method(Protocol):
    """Proposes plans for one program, and is told what was measured; all searches are methods.

    A method runs in the user's process and does not measure itself. It may return None from
    ``ask`` and propose again later, when it has been told of more outcomes. With an attribute
    ``waits_for``, a number of outcomes, it is asked before that only if no other method proposes.
    One with an attribute ``ready`` that is False works on its next plan, and is asked only if no
    other method proposes; ``ask`` then waits for the plan. A method ``close()`` is called when it
    is not asked any more.
    """

    def ask(self) -> Plan | None:
        """Returns the next plan to measure; None if it has none now."""
        ...

    def tell(self, outcome: PlanMeasurement) -> None:
        """Takes note of an outcome: of its own plans and of all others."""
        ...


MakeMethod = Callable[[Program, Numerics], Method]
"""Function that makes a method for a program and a numerics class."""


class Listed:
    """Method that proposes a fixed list of plans, whatever was measured.

    Args:
        plans: The plans, the most promising first. They are made one by one.
    """

    def __init__(self, plans: Iterator[Plan]) -> None:
        self._plans = plans

    def ask(self) -> Plan | None:
        """Returns the next plan of the list."""
        return next(self._plans, None)

    def tell(self, outcome: PlanMeasurement) -> None:
        """Does nothing."""
