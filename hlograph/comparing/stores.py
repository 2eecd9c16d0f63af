"""Compares two stores, such as those of two machines: what each has measured of the same programs.

Nothing runs: the times, ratios and intervals are those that the searches have stored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from hlograph.execution.bootstrap import Interval
from hlograph.optimization.cache import CacheKey, Store
from hlograph.plans import Plan
from hlograph.storage.machine import Machine, machine

Entry = tuple[CacheKey, Plan]
"""A key of a store, and its plan."""


class KeyedPlan(NamedTuple):
    """A plan of a store.

    Attributes:
        plan: The plan.
        numerics: Class that results had to belong to.
        programs: Digests of the program and the objective, of all keys that have the plan: one is
            of the program as the engine reads it, one as jaxlib does.
    """

    plan: Plan
    numerics: str
    programs: frozenset[str]


@dataclass(frozen=True)
class StoredPair:
    """Plans that two stores have for one program and one class of results.

    Attributes:
        numerics: The class that results had to belong to.
        plans: The plan of each store.
    """

    numerics: str
    plans: tuple[Plan, Plan]

    @property
    def name(self) -> str:
        """Name of the program."""
        return self.plans[0].program or self.plans[1].program

    @property
    def default_ratio(self) -> float | None:
        """Seconds of the default by the second store over those by the first.

        None if one of them did not measure it.
        """
        first, second = (plan.measured for plan in self.plans)
        return second.default_seconds / first.default_seconds if first and second else None

    @property
    def gains_differ(self) -> bool:
        """True if the intervals of default / plan by both stores have no value in common."""
        gains = [gain_of(plan) for plan in self.plans]
        known = [gain for gain in gains if gain is not None]
        return len(known) == 2 and max(g.low for g in known) > min(g.high for g in known)

    @property
    def decisions_apart(self) -> tuple[list[str], list[str]]:
        """Decisions of one store's plan alone: rules and passes by name, flags, placements."""
        first, second = (_decisions_of(plan) for plan in self.plans)
        return (
            [line for line in first if line not in second],
            [line for line in second if line not in first],
        )

    @property
    def differs(self) -> bool:
        """True if the gains or the decisions differ."""
        return self.gains_differ or any(self.decisions_apart)

    def to_json(self) -> dict[str, Any]:
        """Returns the pair as a JSON object."""
        first, second = self.plans
        return {
            "program": self.name,
            "numerics": self.numerics,
            "default_ratio": self.default_ratio,
            "gains_differ": self.gains_differ,
            "first": _facts_of(first, self.decisions_apart[0]),
            "second": _facts_of(second, self.decisions_apart[1]),
        }


@dataclass(frozen=True)
class StoreComparison:
    """Holds what two stores have measured of the same programs.

    Attributes:
        pairs: Plans of programs that both have, by name.
        alone: Names of the programs that only one of them has.
    """

    pairs: tuple[StoredPair, ...]
    alone: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def differs(self) -> bool:
        """True if the gains of a program differ."""
        return any(pair.gains_differ for pair in self.pairs)

    def to_json(self) -> dict[str, Any]:
        """Returns the comparison as a JSON object."""
        return {
            "differs": self.differs,
            "programs": [pair.to_json() for pair in self.pairs],
            "alone": dict(zip(("first", "second"), map(list, self.alone), strict=True)),
        }


def compare_stores(
    first: Store, second: Store, keys: Collection[CacheKey] | None = None
) -> StoreComparison:
    """Compares the plans of two folders.

    Plans belong together if they are for one program, class of results and objective, whatever the
    machine. A folder with plans of several machines has several pairs for a program.

    Args:
        first: A store.
        second: Another one.
        keys: Keys of the one program to compare; None compares all.

    Raises:
        HloError: A store is no folder.
    """
    of_program = None if keys is None else {key.parts["program"] for key in keys}
    entries = [list(store.entries()) for store in (first, second)]
    machines = _machines_of([*entries[0], *entries[1]])
    mine, theirs = (_plans_of(each, machines, of_program) for each in entries)
    pairs = [
        StoredPair(some.numerics, (some.plan, other.plan))
        for some in mine
        for other in theirs
        if some.numerics == other.numerics and some.programs & other.programs
    ]
    pairs.sort(key=lambda pair: (pair.name, pair.numerics))
    return StoreComparison(tuple(pairs), (_alone(mine, theirs), _alone(theirs, mine)))


def gain_of(plan: Plan) -> Interval | None:
    """Returns default / plan with its interval; None if the plan was not measured.

    The empty plan is the default: its gain is exactly 1.
    """
    if plan.is_empty:
        return Interval(1.0, 1.0, 1.0)
    measured = plan.measured
    return Interval(measured.ratio, measured.low, measured.high) if measured else None


def _machines_of(entries: Sequence[Entry]) -> dict[str, Machine]:
    """Returns the machines that keys are about, as far as a plan names them."""
    named = [plan.machine for _, plan in entries if plan.machine is not None]
    return {each.key: each for each in (*named, machine())}


def _plans_of(
    entries: Sequence[Entry], machines: Mapping[str, Machine], of_program: Collection[str] | None
) -> list[KeyedPlan]:
    """Returns the plans of a store, each once, of one program if its digests are given."""
    programs: dict[tuple[str, str], set[str]] = {}
    for key, plan in entries:
        parts = key.parts
        # A search that keeps the default stores no machine beside it.
        plan = replace(plan, machine=plan.machine or machines.get(parts["machine"]))
        programs.setdefault((plan.to_json(), parts["numerics"]), set()).add(parts["program"])
    return [
        KeyedPlan(Plan.from_json(text), numerics, frozenset(digests))
        for (text, numerics), digests in programs.items()
        if of_program is None or digests.intersection(of_program)
    ]


def _alone(some: Sequence[KeyedPlan], others: Sequence[KeyedPlan]) -> tuple[str, ...]:
    """Returns the names of programs that only some plans are about."""
    digests = frozenset[str]().union(*(other.programs for other in others))
    return tuple(sorted({each.plan.program for each in some if not each.programs & digests}))


def _decisions_of(plan: Plan) -> list[str]:
    """Returns what a plan does, steps by their names: places have other names elsewhere."""
    lines = [] if plan.is_empty else plan.describe()
    return list(
        dict.fromkeys(
            line.partition("(")[0] if line.startswith("step ") else line for line in lines
        )
    )


def _facts_of(plan: Plan, alone: list[str]) -> dict[str, Any]:
    return {
        "machine": plan.machine.to_json() if plan.machine else None,
        "measured": asdict(plan.measured) if plan.measured else None,
        "plan": _decisions_of(plan),
        "alone": alone,
    }
