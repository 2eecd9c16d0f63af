"""Finds the fewest decisions that make a program as fast as a plan does, by measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from experiments.search.tuning.following import Decisions, Followed, Follower
from hlograph.measuring.service import Measurer
from hlograph.measuring.trial import FINAL, SCREEN, Job, MeasurementRequest
from hlograph.measuring.worker import UNCHANGED
from hlograph.optimization.leading import leads
from hlograph.plans import Measured

# A decision is needed if the program is slower without it by more than this: less is noise.
_NEEDED = 0.015
_MOST_DECISIONS = 16
_CONFIRMATIONS = 2
_FINAL = replace(FINAL, max_seconds=2.0)

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
            found = fewest(ways, _Screening(follower, measurer))
        return _confirmed(job, follower.follow(found))
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
    found = [screened(decisions[:_MOST_DECISIONS]) for decisions in ways]
    taken, ratio = max(found, key=lambda one: (one[1], -len(one[0])), default=((), 1.0))
    # The last ones first: they are about single places, and seldom bring as much as rules.
    for name in reversed(taken):
        without, left = screened(tuple(one for one in taken if one != name))
        if left >= (1 - _NEEDED) * ratio:
            taken, ratio = without, max(left, ratio)
    return taken


def _confirmed(job: Job, found: Followed) -> Taught:
    """Returns decisions with the slower of two measurements in fresh processes."""
    if found.plan.is_empty:
        return Taught((), None)
    with Measurer(job, workers=_CONFIRMATIONS) as measurer:
        trials = [MeasurementRequest(found.plan, _FINAL)] * _CONFIRMATIONS
        outcomes = list(measurer.measure(trials))
    slower = min(outcomes, key=lambda outcome: outcome.ratio)
    if slower.measured is None or not all(map(leads, outcomes)):
        return Taught((), None)
    return Taught(found.decisions, slower.measured)
