"""Follows decisions about a program, and leaves out what does not apply."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from hlograph.decisions.decision_process import DecisionProcess
from hlograph.decisions.offers import PREDICTED
from hlograph.errors import HloError, WorkerLostError
from hlograph.isolation import Remote, WorkerLimits
from hlograph.plans import Numerics, Plan, Program
from hlograph.plans.knobs import STAGES, Point, Recipe, stage_of

if TYPE_CHECKING:
    from hlograph.isolation import FlightRecorder

_SECONDS, _MEMORY = 300.0, 16 << 30
_PRELOADED = ("experiments.search.tuning.following",)

Decisions = tuple[str, ...]
"""Names of decisions, in the order to take them."""


class Followed(NamedTuple):
    """Decisions that a program has followed.

    Attributes:
        decisions: Those that applied.
        plan: Their plan.
    """

    decisions: Decisions
    plan: Plan


class Follower:
    """Follows decisions about one program, in a worker process that ends with this object.

    Args:
        program: The program.
        numerics: Class of the results.
    """

    def __init__(self, program: Program, numerics: Numerics = "close") -> None:
        limits = WorkerLimits(seconds=_SECONDS, memory=_MEMORY)
        self._worker = Remote(partial(_Process, program, numerics), limits, _PRELOADED)

    def follow(self, decisions: Sequence[str]) -> Followed:
        """Takes decisions one after the other; those that are not offered are left out.

        Raises:
            HloError: The program does not compile, or a process ended while it was compiled.
        """
        try:
            return self._worker.call(_Process.follow, tuple(decisions))
        except WorkerLostError as lost:
            raise HloError(f"a process ended while it followed decisions: {lost}") from lost

    def close(self) -> None:
        """Ends the worker process."""
        self._worker.close()


def followed(process: DecisionProcess, decisions: Sequence[str]) -> Followed:
    """Returns the decisions that apply, one after the other, with their plan.

    Raises:
        HloError: The program does not compile by default.
    """
    point, taken = Point(), []
    for name in decisions:
        offered = {offer.name: offer for offer in process.state(point).offers}
        if name not in offered:
            continue
        try:
            after = process.after(point, offered[name])
            process.state(after)
        except HloError:
            continue
        point = after
        taken.append(name)
    return Followed(tuple(taken), process.plan(point))


def decisions_by(recipe: Recipe, rules: Sequence[str]) -> list[Decisions]:
    """Returns decisions that come near to a recipe, in several ways if it has rules.

    A plan has rules at some places, and a decision is about all of them, or about those that are
    predicted to save time.

    Args:
        recipe: The recipe of a plan.
        rules: Names of the rules that are offered as decisions.
    """
    named = tuple(f"rule {name}" for name in recipe.steps if name in rules)
    late = ("fusion", "kernel")  # which kinds of places there are depends on all others
    order = (*(stage for stage in STAGES if stage not in late), *late)
    items = sorted(recipe.point.items, key=lambda item: order.index(stage_of(item[0])))
    values = tuple(f"{name} = {value}" for name, value in items)
    predicted = (f"rule {PREDICTED}",)
    ways = [named, predicted, (*predicted, *named)] if named else [()]
    return [(*way, *values) for way in ways]


class _Process:
    """Follows decisions in the process that may die."""

    def __init__(self, program: Program, numerics: Numerics, recorder: FlightRecorder) -> None:
        self._process, self._recorder = DecisionProcess(program, numerics), recorder

    def follow(self, decisions: Decisions) -> Followed:
        with self._recorder.noted("; ".join(decisions).encode()):
            return followed(self._process, decisions)
