"""Methods that take turns in proposing plans."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Mapping

from hlograph.measuring.trial import Job, PlanMeasurement
from hlograph.optimization.methods import Listed, MakeMethod, Method
from hlograph.plans import Plan
from hlograph.plans.flags import allows_fast_math

# A method that repeats known plans this many times in a row is taken to have no new ones.
_MOST_KNOWN = 1000


class Proposers:
    """Asks methods for plans, in turns, and tells them of outcomes.

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
        self._known = {Plan().digest}
        self._told: set[str] = set()
        self._methods: dict[str, Method] = {"": Listed(iter(first))}
        for name, make in methods.items():
            try:
                self._methods[name] = make(job.program, job.numerics)
            except Exception as error:  # whatever a method raises
                self._drop(name, error)

    def ask(self) -> Plan | None:
        """Returns a plan that was not proposed before; None if no method has one now.

        Methods that wait for more outcomes than there are, or that are not ready, come last.
        """
        for name in sorted(self._methods, key=self._waits):
            try:
                plan = self._new_plan(self._methods[name])
            except Exception as error:  # whatever a method raises
                self._drop(name, error)
                continue
            self._methods[name] = self._methods.pop(name)  # to the end
            if plan is not None:
                return plan
        return None

    def tell(self, outcome: PlanMeasurement) -> None:
        """Tells all methods of an outcome, whose plan is not proposed again."""
        self._known.add(outcome.plan.digest)
        self._told.add(outcome.plan.digest)
        for name, method in list(self._methods.items()):
            try:
                method.tell(outcome)
            except Exception as error:  # whatever a method raises
                self._drop(name, error)

    def close(self) -> None:
        """Ends the processes of methods that have some; they are not asked again."""
        for method in self._methods.values():
            _close(method)

    def _waits(self, name: str) -> bool:
        method = self._methods[name]
        enough = len(self._told) >= getattr(method, "waits_for", 0)
        return not (enough and getattr(method, "ready", True))

    def _new_plan(self, method: Method) -> Plan | None:
        # After a long search, a method proposes all that it measured once more.
        for _ in range(_MOST_KNOWN + len(self._known)):
            plan = method.ask()
            if plan is None:
                return None
            if plan.digest not in self._known and self._allowed(plan):
                self._known.add(plan.digest)
                return plan
        return None

    def _allowed(self, plan: Plan) -> bool:
        return self._numerics == "fast" or not allows_fast_math(plan.flags)

    def _drop(self, name: str, error: Exception) -> None:
        _close(self._methods.pop(name, None))
        warnings.warn(f"the method {name!r} is left out: {error!r}", stacklevel=4)


def _close(method: Method | None) -> None:
    with contextlib.suppress(Exception):  # whatever a method raises: a search goes on without it
        getattr(method, "close", lambda: None)()
