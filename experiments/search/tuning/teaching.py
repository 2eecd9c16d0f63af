"""Finds the fewest decisions that make a program as fast as a plan does, by measurements.

Decisions are names of actions on a plan; they are followed as far as they apply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from hlograph.decisions.plan_states import PREDICTED, PlanStates
from hlograph.errors import HloError, WorkerLostError
from hlograph.isolation import Remote, WorkerLimits
from hlograph.measuring.service import Measurer
from hlograph.measuring.trial import FINAL, SCREEN, Job, MeasurementRequest
from hlograph.measuring.worker import UNCHANGED
from hlograph.optimization.leading import leads
from hlograph.plans import Measured, Numerics, Plan, Program
from hlograph.plans.knobs import STAGES, Point, Recipe, stage_of

if TYPE_CHECKING:
    from hlograph.isolation import FlightRecorder

_SECONDS, _MEMORY = 300.0, 16 << 30
_PRELOADED = ("experiments.search.tuning.teaching",)

# A decision is needed if the program is slower without it by more than this: less is noise.
_NEEDED = 0.015
_MOST_DECISIONS = 16
_CONFIRMATIONS = 2
_FINAL = replace(FINAL, max_seconds=2.0)

Decisions = tuple[str, ...]
"""Names of actions on a plan, in the order to take them."""

Screened = Callable[[Decisions], tuple[Decisions, float]]
"""Function that returns those of some decisions that apply, and jaxlib's default / their plan."""


class Taught(NamedTuple):
    """Decisions about a program, and how fast they make it.

    Attributes:
        decisions: The decisions; none if jaxlib's default is kept.
        measured: Their speed, in the slower of two processes; None for the default.
    """

    decisions: Decisions
    measured: Measured | None


def taught(job: Job, ways: Sequence[Decisions]) -> Taught:
    """Returns the fewest decisions that are as fast as the fastest of some.

    Args:
        job: The program and the conditions.
        ways: Decisions to begin with.

    Raises:
        HloError: The program cannot be measured.
    """
    follower = Follower(job.program, job.numerics)
    try:
        with Measurer(job, workers=1) as measurer:
            decisions = fewest(ways, _Screening(follower, measurer))
        return _confirmed(job, follower.follow(decisions))
    finally:
        follower.close()


class _Screening:
    """Measures decisions briefly, each plan once."""

    def __init__(self, follower: Follower, measurer: Measurer) -> None:
        self._follower, self._measurer = follower, measurer
        self._known: dict[str, float] = {}

    def __call__(self, decisions: Decisions) -> tuple[Decisions, float]:
        """See ``Screened``. The ratio of a plan that cannot be timed is 0."""
        taken, plan = self._follower.follow(decisions)
        if plan.is_empty:
            return taken, 1.0
        if plan.digest not in self._known:
            (outcome,) = self._measurer.measure([MeasurementRequest(plan, SCREEN)])
            self._known[plan.digest] = 1.0 if outcome.error == UNCHANGED else outcome.ratio
        return taken, self._known[plan.digest]


def fewest(ways: Sequence[Decisions], screened: Screened) -> Decisions:
    """Returns the fastest of some decisions, without those that bring nothing.

    Args:
        ways: The decisions to choose from.
        screened: Measures decisions.
    """
    measured = [screened(decisions[:_MOST_DECISIONS]) for decisions in ways]
    best = max((ratio for _, ratio in measured), default=1.0)
    near = [each for each in measured if each[1] >= (1 - _NEEDED) * best]
    taken, ratio = min(near, key=lambda each: len(each[0]), default=((), 1.0))
    # The last ones first: they are about single places, and seldom bring as much as rules.
    for name in reversed(taken):
        without, ratio_without = screened(tuple(each for each in taken if each != name))
        if ratio_without >= (1 - _NEEDED) * ratio:
            taken, ratio = without, max(ratio_without, ratio)
    return taken


def _confirmed(job: Job, followed: Followed) -> Taught:
    """Returns decisions with the slower of two measurements in fresh processes."""
    if followed.plan.is_empty:
        return Taught((), None)
    with Measurer(job, workers=_CONFIRMATIONS) as measurer:
        trials = [MeasurementRequest(followed.plan, _FINAL)] * _CONFIRMATIONS
        outcomes = list(measurer.measure(trials))
    slower = min(outcomes, key=lambda outcome: outcome.ratio)
    if slower.measured is None or not all(map(leads, outcomes)):
        return Taught((), None)
    return Taught(followed.decisions, slower.measured)


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
        """Takes decisions one after the other; those that do not apply are left out.

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


def followed(states: PlanStates, decisions: Sequence[str]) -> Followed:
    """Returns the decisions that apply, one after the other, with their plan.

    Raises:
        HloError: The program does not compile by default.
    """
    point, taken = Point(), []
    for name in decisions:
        action = states.state(point).by_name.get(name)
        if action is None:
            continue
        try:
            after = states.after(point, action)
            states.state(after)
        except HloError:
            continue
        point = after
        taken.append(name)
    return Followed(tuple(taken), states.plan(point))


class _Process:
    """Follows decisions in the process that may die."""

    def __init__(self, program: Program, numerics: Numerics, recorder: FlightRecorder) -> None:
        self._states, self._recorder = PlanStates(program, numerics), recorder

    def follow(self, decisions: Decisions) -> Followed:
        with self._recorder.noted("; ".join(decisions).encode()):
            return followed(self._states, decisions)


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
