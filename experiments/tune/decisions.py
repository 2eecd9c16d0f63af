"""Decisions of winning plans, by stage of the compilation."""

from collections import Counter
from collections.abc import Iterable

from hlograph.plans import Plan
from hlograph.tuning.knobs import STAGES

_FUSION = ("fuse", "unfuse")


def decisions_of(plan: Plan) -> set[tuple[str, str]]:
    """Returns the kinds of decisions that a plan makes.

    Returns:
        Pairs of a stage and a name: rules and passes, places of layouts, decisions of placements,
        and flags.
    """
    found = {("steps", step.partition("(")[0]) for step in plan.steps}
    found |= {("layout", _layout_kind(name)) for name in plan.layouts}
    for placement in plan.placements:
        stage = "fusion" if placement.decision in _FUSION else "kernel"
        value = f" {placement.value}" if placement.decision == "library" else ""
        found.add((stage, f"{placement.decision}{value}"))
    return found | {("flags", flag) for flag in plan.flags}


def counts(plans: Iterable[Plan]) -> dict[str, Counter[str]]:
    """Returns the number of plans with each kind of decision, by stage.

    Under the empty name is the number of plans with any decision of the stage.
    """
    found: dict[str, Counter[str]] = {stage: Counter() for stage in STAGES}
    for plan in plans:
        kinds = decisions_of(plan)
        for stage, name in kinds:
            found[stage][name] += 1
        for stage in {stage for stage, _ in kinds}:
            found[stage][""] += 1
    return found


def _layout_kind(name: str) -> str:
    kind, colon, _ = name.partition(":")
    return f"{kind}s" if colon else "instructions"
