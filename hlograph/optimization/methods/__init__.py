"""Methods, which propose plans in the race of ``hlograph.optimize``: searches over plans.

A package adds methods by entry points of the group ``hlograph.methods``; ``register`` adds one in
this process; and ``package.module:function`` names one wherever a method's name is expected.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from hlograph.decisions.searches import (
    OneByOne,
    Search,
    check_importable,
    maker,
    names,
    register,
)
from hlograph.measuring.trial import Job, PlanMeasurement
from hlograph.plans import Numerics, Plan, Program
from hlograph.plans.flags import allows_fast_math

__all__ = [
    "COLD",
    "HELPS",
    "Listed",
    "MakeMethod",
    "Method",
    "PlanSearch",
    "Proposers",
    "check_importable",
    "methods",
    "names",
    "register",
]

HELPS = 1.03
"""Ratio of a plan that helps; below it, plans are within the noise of a screening."""

COLD = 0.02
"""Share of the default's time below which what a plan is about can hardly make it faster."""

Method = Search[Plan, PlanMeasurement]
"""Proposes plans for one program, and is told what was measured, also of plans of other methods.

A method runs in the user's process and does not measure itself. It may propose nothing, and propose
again later, when it has been told of more outcomes. With an attribute ``waits_for``, a number of
outcomes, it is asked before that only if no other method proposes. One with an attribute ``ready``
that is False works on its next plan, and is asked only if no other method proposes; ``ask`` then
waits for the plan. One with an attribute ``comes_first`` that is True is asked before the others. A
method ``close()`` is called when it is not asked any more.
"""

_READY_EVERY = 0.01  # seconds

# A method that repeats known plans this many times in a row is taken to have no new ones.
_MOST_KNOWN = 1000

MakeMethod = Callable[[Program, Numerics], Method]
"""Function that makes a method for a program and a numerics class."""

PlanSearch = OneByOne[Plan, PlanMeasurement]
"""Base of methods that think of one plan at a time."""


class Listed(PlanSearch):
    """Method that proposes a fixed list of plans, whatever was measured.

    Args:
        plans: The plans, the most promising first. They are made one by one.
    """

    def __init__(self, plans: Iterator[Plan]) -> None:
        self._plans = plans

    def _next(self) -> Plan | None:
        return next(self._plans, None)

    def _take(self, result: PlanMeasurement) -> None:
        """Learns nothing."""


def methods(chosen: Iterable[str] | None = None, seed: int = 0) -> dict[str, MakeMethod]:
    """Returns methods by name.

    Args:
        chosen: Names of methods, or ``package.module:function`` of functions that make one. None
            chooses all of ``names``, without those that are tried only if they are named.
        seed: Seed of those that have a parameter ``seed``.

    Raises:
        UnknownNameError: There is no such method.
        HloError: A method cannot be imported.
    """
    return {name: maker(name, seed=seed) for name in (names() if chosen is None else chosen)}


class Proposers(PlanSearch):
    """Asks methods for plans, in turns, and tells them of outcomes.

    Where another plan than the empty one is the reference, plans are proposed with its decisions,
    and the method that has proposed one is told of its own.

    A method that raises an exception is left out from then on, and a warning says so.

    Args:
        job: The program and the conditions.
        methods: Methods by name.
        first: Plans to propose before those of the methods.
    """

    def __init__(
        self, job: Job, methods: Mapping[str, MakeMethod], first: Iterable[Plan] = ()
    ) -> None:
        self._numerics = job.numerics
        self._reference = job.reference
        self._known = {Plan().digest, job.reference.digest}
        self._own: dict[str, Plan] = {}
        self._told: set[str] = set()
        self._methods: dict[str, Method] = {"": Listed(iter(first))}
        for name, make in methods.items():
            try:
                self._methods[name] = make(job.program, job.numerics)
            except Exception as error:  # whatever a method raises
                self._drop(name, error)

    def wait(self, seconds: float) -> None:
        """Waits until all methods are ready, but not longer than so many seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if all(getattr(method, "ready", True) for method in self._methods.values()):
                return
            time.sleep(_READY_EVERY)

    def _next(self) -> Plan | None:
        """Returns a plan that was not proposed before; None if no method has one now.

        Methods that wait for more outcomes than there are, or that are not ready, come last.
        """
        for name in sorted(self._methods, key=self._turn):
            try:
                plan = self._new_plan(self._methods[name])
            except Exception as error:  # whatever a method raises
                self._drop(name, error)
                continue
            self._methods[name] = self._methods.pop(name)  # to the end
            if plan is not None:
                return plan
        return None

    def _take(self, result: PlanMeasurement) -> None:
        """Tells all methods of an outcome, whose plan is not proposed again."""
        self._known.add(result.plan.digest)
        if own := self._own.get(result.plan.digest):
            result = replace(result, plan=own)
        self._told.add(result.plan.digest)
        for name, method in list(self._methods.items()):
            try:
                method.tell([result])
            except Exception as error:  # whatever a method raises
                self._drop(name, error)

    def is_new(self, plan: Plan) -> bool:
        """Returns True if a plan was not proposed before; it is not proposed from then on."""
        if plan.digest in self._known:
            return False
        self._known.add(plan.digest)
        return True

    def close(self) -> None:
        """Ends the processes of methods that have some; they are not asked again."""
        for method in self._methods.values():
            _close(method)

    def _turn(self, name: str) -> tuple[bool, bool]:
        """Returns what orders methods: those that wait last, those that come first first."""
        method = self._methods[name]
        enough = len(self._told) >= getattr(method, "waits_for", 0)
        waits = not (enough and getattr(method, "ready", True))
        return waits, not getattr(method, "comes_first", False)

    def _new_plan(self, method: Method) -> Plan | None:
        # After a long search, a method proposes all that it measured once more.
        for _ in range(_MOST_KNOWN + len(self._known)):
            asked = method.ask(1)
            if not asked:
                return None
            (plan,) = asked
            if plan.digest in self._known or not self._allowed(plan):
                continue
            self._known.add(plan.digest)
            combined = plan.beside(self._reference)
            if combined.digest in self._known and combined.digest != plan.digest:
                continue
            self._known.add(combined.digest)
            self._own[combined.digest] = plan
            return combined
        return None

    def _allowed(self, plan: Plan) -> bool:
        return self._numerics == "fast" or not allows_fast_math(plan.flags)

    def _drop(self, name: str, error: Exception) -> None:
        _close(self._methods.pop(name, None))
        warnings.warn(f"the method {name!r} is left out: {error!r}", stacklevel=4)


def _close(method: Method | None) -> None:
    with contextlib.suppress(Exception):  # whatever a method raises: a search goes on without it
        getattr(method, "close", lambda: None)()
