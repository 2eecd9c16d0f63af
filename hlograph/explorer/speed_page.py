"""The page of a plan, and the answers to its questions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from hlograph.errors import HloError
from hlograph.explorer.pages import FileContent, Page, Query
from hlograph.explorer.plan_bench import PlanBench
from hlograph.explorer.plan_data import measure_all, measure_decision, measure_whole, plan_data
from hlograph.measuring.trial import Job
from hlograph.plans import Plan

DECISION, WHOLE = "plan-decision", "plan-whole"
"""Names of the queries that measure."""


def speed_page(
    plan: Plan,
    job: Job,
    *,
    name: str = "speed",
    measure: bool = False,
    say: Callable[[str], None] = lambda sentence: None,
) -> tuple[Page, dict[str, FileContent]]:
    """Returns the page of a plan, and its data files.

    The program is compiled and run in worker processes, as jaxlib's default and with the plan.

    Args:
        plan: The plan.
        job: The program that it is for, and its inputs.
        name: Name of the page.
        measure: True measures what each decision brings, which takes a compilation and some
            seconds each.
        say: Function that shows the user a sentence.
    """
    say("recording the program as jaxlib's default, and with the plan")
    with PlanBench(job) as bench:
        data = plan_data(plan, bench)
        content = data.content
        if measure:
            content |= measure_all(plan, bench, lambda number, decision: say(f"without {decision}"))
    files: dict[str, FileContent] = {f"{name}-{version}": m for version, m in data.modules.items()}
    content["modules"] = {version: f"{name}-{version}" for version in data.modules}
    content["queries"] = {"decision": DECISION, "whole": WHOLE, "about": name}
    return Page("speed", name, "Speed", content), files


class PlanQueries:
    """Measures what the decisions of plans bring when pages ask.

    The workers of a plan start with its first question, and end with the first one about another
    plan. Questions are answered one after another.
    """

    def __init__(self) -> None:
        self._plans: dict[str, tuple[Plan, Job]] = {}
        self._lock = threading.Lock()
        self._bench: tuple[str, PlanBench] | None = None

    def add(self, name: str, plan: Plan, job: Job) -> None:
        """Takes questions about a plan.

        Args:
            name: Name of its page.
            plan: The plan.
            job: The program that it is for, and its inputs.
        """
        self._plans[name] = plan, job

    @property
    def queries(self) -> dict[str, Query]:
        """The queries of a site."""
        return {DECISION: self.decision, WHOLE: self.whole}

    def decision(self, question: Any) -> dict[str, Any]:
        """Returns what a decision brings; see ``measure_decision``.

        Raises:
            HloError: There is no such plan or decision.
        """
        with self._lock:
            plan, bench = self._asked(question)
            try:
                return measure_decision(plan, int(question["number"]), bench)
            except (KeyError, TypeError, ValueError, IndexError) as error:
                raise HloError(f"the plan has no such decision: {question}") from error

    def whole(self, question: Any) -> dict[str, Any]:
        """Returns what the plan brings; see ``measure_whole``.

        Raises:
            HloError: There is no such plan.
        """
        with self._lock:
            return measure_whole(*self._asked(question))

    def close(self) -> None:
        """Ends the workers."""
        with self._lock:
            self._end()

    def _asked(self, question: Any) -> tuple[Plan, PlanBench]:
        name = question.get("about") if isinstance(question, dict) else None
        if name not in self._plans:
            raise HloError(f"there is no page of a plan for this question: {question}")
        plan, job = self._plans[name]
        if self._bench is None or self._bench[0] != name:
            self._end()
            self._bench = name, PlanBench(job, workers=1)
        return plan, self._bench[1]

    def _end(self) -> None:
        if self._bench is not None:
            self._bench[1].close()
        self._bench = None
