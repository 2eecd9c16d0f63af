"""The decisions of a plan, and the plan without each of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from hlograph.plans import Plan
from hlograph.plans.placement import Placement

_One = TypeVar("_One")
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
    bare = replace(plan, measured=None, machine=None)
    return [*_steps(bare), *_layouts(bare), *_flags(bare), *_placements(bare)]


def _steps(plan: Plan) -> list[Decision]:
    def decision(rule: str, steps: tuple[str, ...]) -> Decision:
        rest = tuple(step for step in plan.steps if _rule(step) != rule)
        places = tuple(step for step in steps if "(" in step)
        name = rule if len(places) > 1 else steps[0]
        return Decision("step", name, "", places, replace(plan, steps=rest))

    return [decision(*one) for one in _grouped(plan.steps, _rule).items()]


def _layouts(plan: Plan) -> list[Decision]:
    def without(name: str) -> Plan:
        return replace(plan, layouts={n: v for n, v in plan.layouts.items() if n != name})

    return [
        Decision("layout", name, value, (), without(name)) for name, value in plan.layouts.items()
    ]


def _flags(plan: Plan) -> list[Decision]:
    def without(name: str) -> Plan:
        return replace(plan, flags={n: v for n, v in plan.flags.items() if n != name})

    return [
        Decision("flag", name, str(value) or '""', (), without(name))
        for name, value in plan.flags.items()
    ]


def _placements(plan: Plan) -> list[Decision]:
    def decision(about: tuple[str, str], placements: tuple[Placement, ...]) -> Decision:
        kind, value = about
        rest = tuple(one for one in plan.placements if _about(one) != about)
        places = tuple(str(one) for one in placements)
        name = placements[0].instruction if len(placements) == 1 else "kernels"
        without = replace(plan, placements=rest, placed=plan.placed if rest else "")
        return Decision(kind, name, value, places, without)

    return [decision(*one) for one in _grouped(plan.placements, _about).items()]


def _rule(step: str) -> str:
    return step.partition("(")[0]


def _about(placement: Placement) -> tuple[str, str]:
    """Returns the kind of a placement with its value, unless this names an instruction."""
    named = placement.decision in ("fuse", "unfuse")
    return placement.decision, "" if named else placement.value


def _grouped(many: Iterable[_One], key: Callable[[_One], _Key]) -> dict[_Key, tuple[_One, ...]]:
    found: dict[_Key, list[_One]] = defaultdict(list)
    for one in many:
        found[key(one)].append(one)
    return {about: tuple(ones) for about, ones in found.items()}
