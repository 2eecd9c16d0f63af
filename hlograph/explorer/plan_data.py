"""Data of the page of a plan: what it does, what it brings, and where the time goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from hlograph.explorer.decisions import Decision, decisions_of
from hlograph.explorer.plan_bench import PlanBench
from hlograph.explorer.plan_requests import (
    PlanAnswer,
    Refused,
    Timeline,
    TimelineRequest,
    TurnsRequest,
)
from hlograph.plans import Measured, Plan
from hlograph.storage.machine import machine

Asked = Callable[[int, Decision], None]
"""Function that is told of a decision before it is measured: its number, and it."""


@dataclass(frozen=True)
class PlanData:
    """Data of the page of a plan.

    Attributes:
        content: A JSON object: ``report``, ``decisions``, and ``timelines`` of the default and of
            the plan.
        modules: The optimized modules of both, which pages read when they are asked for.
    """

    content: dict[str, Any]
    modules: dict[str, dict[str, Any]]


def plan_data(plan: Plan, bench: PlanBench) -> PlanData:
    """Returns the data of a plan's page. Its decisions are not measured yet.

    Args:
        plan: The plan.
        bench: Workers of its program.
    """
    plans = {"default": Plan(), "plan": _bare(plan)}
    answers = bench.answers([TimelineRequest(one) for one in plans.values()])
    timelines, modules = {}, {}
    for name, answer in zip(plans, answers, strict=True):
        timelines[name] = _timeline(answer)
        if isinstance(answer, Timeline):
            modules[name] = answer.module
    content = {
        "report": report_of(plan),
        "decisions": [_decision(one) for one in decisions_of(plan)],
        "whole": None,
        "control": None,
        "timelines": timelines,
    }
    return PlanData(content, modules)


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
    requests = [TurnsRequest(bare, Plan()), TurnsRequest(bare, bare)]
    whole, control = bench.answers(requests)
    return {"whole": _brought(whole), "control": _brought(control)}


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
    (answer,) = bench.answers([TurnsRequest(bare, without)])
    if isinstance(answer, Refused) and without.placements:
        least = replace(without, placements=(), placed="")
        (again,) = bench.answers([TurnsRequest(bare, least)])
        note = f"together with {len(without.placements)} placements, which do not apply without it"
        return _brought(again) | ({} if isinstance(again, Refused) else {"note": note})
    return _brought(answer)


def measure_all(
    plan: Plan, bench: PlanBench, asked: Asked = lambda number, decision: None
) -> dict[str, Any]:
    """Returns what the whole plan and each of its decisions bring, as parts of ``content``."""
    decisions = decisions_of(plan)
    found = measure_whole(plan, bench)
    rows = []
    for number, decision in enumerate(decisions):
        asked(number, decision)
        rows.append(_decision(decision, measure_decision(plan, number, bench)))
    return {**found, "decisions": rows}


def _bare(plan: Plan) -> Plan:
    return replace(plan, measured=None, machine=None)


def _timeline(answer: PlanAnswer) -> dict[str, Any]:
    if isinstance(answer, Timeline):
        return answer.timeline | {"compile_seconds": answer.compile_seconds}
    return {"error": answer.reason if isinstance(answer, Refused) else str(answer)}


def _brought(answer: PlanAnswer) -> dict[str, Any]:
    if isinstance(answer, Measured):
        brought = {name: getattr(answer, name) for name in ("ratio", "low", "high", "pairs")}
        if not answer.pairs:
            return brought | {"same_code": True, "seconds": None, "other_seconds": None}
        return brought | {"seconds": answer.seconds, "other_seconds": answer.default_seconds}
    return {"error": answer.reason if isinstance(answer, Refused) else str(answer)}


def _decision(decision: Decision, brought: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "kind": decision.kind,
        "name": decision.name,
        "value": decision.value,
        "places": list(decision.places),
        "brought": brought,
    }
