"""Differences between two plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlograph.plans import Plan


def fields_of(plan: Plan) -> dict[str, str]:
    """Returns what a plan is about and how fast it was, as text by name."""
    return {
        "program": plan.program or "-",
        "fingerprint": plan.fingerprint or "-",
        "numerics": plan.numerics,
        "method": plan.method or "-",
        "measured": str(plan.measured) if plan.measured else "-",
        "machine": str(plan.machine) if plan.machine else "-",
    }


def differing_lines(first: Plan, second: Plan) -> list[str]:
    """Returns what only one of two plans does, as lines that begin with a sign.

    Steps are shown in their order, all of both plans, if they differ: their order matters.
    """
    mine = [] if first.is_empty else first.describe()
    theirs = [] if second.is_empty else second.describe()
    removed = [f"- {line}" for line in mine if line not in theirs]
    added = [f"+ {line}" for line in theirs if line not in mine]
    if first.steps != second.steps:
        steps = [[f"step {step}" for step in plan.steps] for plan in (first, second)]
        removed = [f"- {s}" for s in steps[0]] + [s for s in removed if s[2:] not in steps[0]]
        added = [f"+ {s}" for s in steps[1]] + [s for s in added if s[2:] not in steps[1]]
    return removed + added
