"""Plans of the signatures of ``hlograph.jit``: given, stored or searched for, within limits."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array
from hlograph.measuring.trial import Job
from hlograph.optimization.background import in_background
from hlograph.optimization.function import OptimizedFunction
from hlograph.optimization.judging import is_judged_before, judged_before, warn_once
from hlograph.optimization.optimizing import report_of_given, stored_plan, unmeasured
from hlograph.optimization.report import Report
from hlograph.optimization.search_settings import SearchSettings
from hlograph.plans import Plan, PlanRefusedError, Program

FirstCall = Literal["default", "checked"]
"""Executable of the first call of a function: see ``hlograph.jit``."""

Inputs = Callable[[], list[Array] | None]
"""Returns copies of the arrays of a call, which may be large; None if they are not to be had."""

_SECONDS = "HLOGRAPH_JIT_SECONDS"
_MOST_SECONDS = 1800.0  # of all searches of a process, unless the variable says otherwise


@dataclass(frozen=True)
class JitSettings:
    """The arguments of ``hlograph.jit``; see there.

    Attributes:
        search: Settings of each search.
        job: Makes the job of a program, with the class of results and the limit of memory.
        background: True searches beside the program.
        max_signatures: Number of signatures that are searched for.
        first: What the first call runs by.
        plans: Plans to use instead of a search.
        options: Options of ``jax.jit``.
    """

    search: SearchSettings
    job: Callable[[Program], Job]
    background: bool
    max_signatures: int
    first: FirstCall
    plans: tuple[Plan, ...]
    options: dict[str, Any] = field(default_factory=dict)


class SignaturePlanner:
    """Finds the plans of a function's signatures, and searches for those of the first ones.

    Args:
        function: The function of ``jax.jit``.
        settings: What ``hlograph.jit`` was called with.
    """

    def __init__(self, function: Any, settings: JitSettings) -> None:
        self._function, self._settings = function, settings
        self._searched, self._lock = 0, threading.Lock()

    def planned(self, job: Job, inputs: Inputs, use: Callable[[Plan], None]) -> OptimizedFunction:
        """Returns the record of a signature, whose plan comes from the user, the store or a search.

        Args:
            job: The program, and the conditions.
            inputs: Returns the arrays of the call.
            use: Makes the signature run by a plan.

        Raises:
            HloError: The program cannot be measured.
        """
        report = self._report_at_hand(job, inputs)
        if report is not None:
            use(report.plan)
            warn_once(report)
            return OptimizedFunction(self._function, None, report, self._settings.search.process)
        with self._lock:
            self._searched += 1
            is_one_of_many = self._searched > self._settings.max_signatures
        if is_one_of_many:
            limit = f"max_signatures={self._settings.max_signatures}"
            return self._without_search(job, limit, inputs, use)
        if not _ALLOWANCE.take(self._settings.search.budget):
            limit = f"{_SECONDS}={_ALLOWANCE.seconds:g}"
            return self._without_search(job, limit, inputs, use)
        job = replace(job, given=inputs())
        is_checked = self._settings.first == "checked"
        search = self._settings.search
        function = in_background(self._function, use, job, search, is_checked=is_checked)
        if not self._settings.background:
            function.wait()
        return function

    def _without_search(
        self, job: Job, limit: str, inputs: Inputs, use: Callable[[Plan], None]
    ) -> OptimizedFunction:
        """Returns the record of a signature that is not searched for, whose default is judged."""
        words = f"jaxlib's default, without a search: {limit} is reached"
        report = Report(job.program.name, Plan(), words, job.numerics)
        is_checked = self._settings.first == "checked"
        if is_judged_before(job, is_checked=is_checked):
            job = replace(job, given=inputs())
            report = judged_before(job, report, is_checked=is_checked)
            use(report.plan)
            warn_once(report)
        return OptimizedFunction(self._function, None, report)

    def _report_at_hand(self, job: Job, inputs: Inputs) -> Report | None:
        """Returns the report of a plan that needs no search; None if there is none."""
        for plan in self._settings.plans:
            with contextlib.suppress(PlanRefusedError):  # for another program or machine
                return report_of_given(job, plan, measure_again=False)
        stored = stored_plan(job, self._settings.search.store, inputs).plan
        return None if stored is None else unmeasured(job, stored)


class _Allowance:
    """The seconds that all searches of the process may take together."""

    def __init__(self) -> None:
        self._lock, self._taken = threading.Lock(), 0.0

    @property
    def seconds(self) -> float:
        """The limit.

        Raises:
            HloError: The environment variable is no number.
        """
        given = os.environ.get(_SECONDS, str(_MOST_SECONDS))
        try:
            return float(given)
        except ValueError as error:
            raise HloError(f"expected a number of seconds in {_SECONDS}, got {given!r}") from error

    def take(self, budget: float) -> bool:
        """Takes a search's budget; returns False if it would be too much."""
        with self._lock:
            if self._taken + budget > self.seconds:
                return False
            self._taken += budget
            return True


_ALLOWANCE = _Allowance()
