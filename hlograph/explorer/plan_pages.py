"""The page of a plan: what it does, what it brings, where the time goes; and its questions."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from hlograph.errors import HloError
from hlograph.explorer.plan_bench import (
    PlanAnswer,
    PlanBench,
    Refused,
    Timeline,
)
from hlograph.explorer.site import FileContent, Page, Query
from hlograph.measuring.trial import Job
from hlograph.plans import Plan
from hlograph.plans.placement import Placement
from hlograph.storage.machine import machine

_Item = TypeVar("_Item")
_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True)
class Decision:
    """Groups what a plan decides in one way, at one place or several.

    Attributes:
        kind: ``step``, ``layout``, ``flag`` or the kind of a placement, such as ``unfuse``.
        name: Name of the pass, rule or flag, or what the layout or placement is about. Of a rule at
            one place it has the place.
        value: Value; empty for a kind that needs none.
        places: Places at which it holds: of a rule, or instructions of the optimized module.
        without: The plan without it. It was not measured.
    """

    kind: str
    name: str
    value: str
    places: tuple[str, ...]
    without: Plan

    def __str__(self) -> str:
        value = f" = {self.value}" if self.value else ""
        more = f" at {len(self.places)} places" if len(self.places) > 1 else ""
        return f"{self.kind} {self.name}{value}{more}"


def decisions_of(plan: Plan) -> list[Decision]:
    """Returns the decisions of a plan, in the order of its ``describe``.

    Places of one rule are one decision, and so are placements of one kind and value: a plan may
    have thousands of them, of which each one alone changes less than can be measured.
    """
    plan = _bare(plan)
    rules = [_step(plan, *group) for group in _grouped(plan.steps, _rule).items()]
    layouts = [
        Decision("layout", name, value, (), replace(plan, layouts=_but(plan.layouts, name)))
        for name, value in plan.layouts.items()
    ]
    flags = [
        Decision("flag", name, str(value) or '""', (), replace(plan, flags=_but(plan.flags, name)))
        for name, value in plan.flags.items()
    ]
    placements = [_placed(plan, *group) for group in _grouped(plan.placements, _about).items()]
    return [*rules, *layouts, *flags, *placements]


def _step(plan: Plan, rule: str, steps: tuple[str, ...]) -> Decision:
    rest = tuple(step for step in plan.steps if _rule(step) != rule)
    places = tuple(step for step in steps if "(" in step)
    name = rule if len(places) > 1 else steps[0]
    return Decision("step", name, "", places, replace(plan, steps=rest))


def _placed(plan: Plan, about: tuple[str, str], placements: tuple[Placement, ...]) -> Decision:
    rest = tuple(placement for placement in plan.placements if _about(placement) != about)
    name = placements[0].instruction if len(placements) == 1 else "kernels"
    without = replace(plan, placements=rest, placed=plan.placed if rest else "")
    return Decision(about[0], name, about[1], tuple(map(str, placements)), without)


def _but(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {other: value for other, value in settings.items() if other != name}


def _rule(step: str) -> str:
    return step.partition("(")[0]


def _about(placement: Placement) -> tuple[str, str]:
    """Returns the kind of a placement with its value, unless this names an instruction."""
    named = placement.decision in ("fuse", "unfuse")
    return placement.decision, "" if named else placement.value


def _grouped(many: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, tuple[_Item, ...]]:
    groups: dict[_Key, list[_Item]] = defaultdict(list)
    for item in many:
        groups[key(item)].append(item)
    return {about: tuple(items) for about, items in groups.items()}


def plan_data(plan: Plan, bench: PlanBench) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Returns the data of a plan's page, whose decisions are not measured yet.

    Args:
        plan: The plan.
        bench: Workers of its program.

    Returns:
        A JSON object with ``report``, ``decisions``, and ``timelines`` of ``default`` and ``plan``;
        and by these names their optimized modules, which pages read when they are asked for.
    """
    answers = bench.answers([(Plan(),), (_bare(plan),)])
    named = dict(zip(("default", "plan"), answers, strict=True))
    content = {
        "report": report_of(plan),
        "decisions": [_decision(decision) for decision in decisions_of(plan)],
        "whole": None,
        "control": None,
        "timelines": {name: _shown(answer) for name, answer in named.items()},
    }
    return content, {
        n: answer.module for n, answer in named.items() if isinstance(answer, Timeline)
    }


def report_of(plan: Plan) -> dict[str, Any]:
    """Returns what a plan's file says of it, and the machine that this is."""
    return {
        "program": plan.program,
        "fingerprint": plan.fingerprint,
        "numerics": plan.numerics,
        "method": plan.method,
        "summary": plan.summary(),
        "measured": asdict(plan.measured) if plan.measured else None,
        "machine": str(plan.machine) if plan.machine else None,
        "here": str(machine()),
    }


def measure_whole(plan: Plan, bench: PlanBench) -> dict[str, Any]:
    """Returns what the plan brings here in all, and the plan beside itself, compiled again."""
    bare = _bare(plan)
    whole, control = bench.answers([(bare, Plan()), (bare, bare)])
    return {"whole": _shown(whole), "control": _shown(control)}


def measure_decision(plan: Plan, number: int, bench: PlanBench) -> dict[str, Any]:
    """Returns what a decision of a plan brings: the plan, timed in turns with itself without it.

    Placements are about the optimized module that the rest of the plan leads to. If they do not
    apply without a step, flag or layout, they are left out, too, which the result says.

    Args:
        plan: The plan.
        number: Number of the decision in ``decisions_of``.
        bench: Workers of its program.

    Raises:
        IndexError: The plan has no decision of that number.
    """
    decision = decisions_of(plan)[number]
    bare, without = _bare(plan), decision.without
    (answer,) = bench.answers([(bare, without)])
    if isinstance(answer, Refused) and without.placements:
        least = replace(without, placements=(), placed="")
        (again,) = bench.answers([(bare, least)])
        note = f"together with {len(without.placements)} placements, which do not apply without it"
        return _shown(again) | ({} if isinstance(again, Refused) else {"note": note})
    return _shown(answer)


def measure_all(
    plan: Plan, bench: PlanBench, say: Callable[[str], None] = lambda sentence: None
) -> dict[str, Any]:
    """Returns what the whole plan and each of its decisions bring, as parts of ``plan_data``."""
    rows = []
    brought = measure_whole(plan, bench)
    for number, decision in enumerate(decisions_of(plan)):
        say(f"without {decision}")
        rows.append(_decision(decision, measure_decision(plan, number, bench)))
    return brought | {"decisions": rows}


def _bare(plan: Plan) -> Plan:
    return replace(plan, measured=None, machine=None)


def _shown(answer: PlanAnswer) -> dict[str, Any]:
    """Returns an answer as JSON: a timeline, what a plan brings, or why it is not known."""
    if isinstance(answer, Refused):
        return {"error": answer.reason}
    if isinstance(answer, Timeline):
        return answer.timeline
    brought = {name: getattr(answer, name) for name in ("ratio", "low", "high", "pairs")}
    if not answer.pairs:
        return brought | {"same_code": True, "seconds": None, "other_seconds": None}
    return brought | {"seconds": answer.seconds, "other_seconds": answer.default_seconds}


def _decision(decision: Decision, brought: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "kind": decision.kind,
        "name": decision.name,
        "value": decision.value,
        "places": list(decision.places),
        "brought": brought,
    }


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
        content, modules = plan_data(plan, bench)
        if measure:
            content |= measure_all(plan, bench, say)
    files: dict[str, FileContent] = {f"{name}-{version}": m for version, m in modules.items()}
    content["modules"] = {version: f"{name}-{version}" for version in modules}
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
