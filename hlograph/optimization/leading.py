"""Plans that lead, and those of them that are measured again first."""

from __future__ import annotations

import heapq
import statistics
from collections.abc import Sequence

from hlograph.measuring.trial import LONG_RUN, Effort, PlanMeasurement

# Below this a lead is not worth the risk that it does not hold tomorrow.
LEAST_LEAD = 1.03
LEAST_GAIN = 1e-6  # seconds

CONFIRMATIONS = 2
"""Number of fresh processes in which a plan of the final is measured."""

# The final takes this: seconds to start processes, multiples of a compilation (of default and
# control on two processes, and of each plan) and multiples of a run.
_START, _COMPILATIONS, _COMPARED = 1.0, 2.0, 60.0
_COMPILED = 3  # of the fastest plans, of which one is likely to be in the final

# A long run is made so many times in one of the processes to compare, beside another one that does
# the same, or so many where results are close and rounding is measured on some samples. It is timed
# in so many turns.
_LONG_EQUAL, _LONG_CLOSE, _LONG_TURNS = 10.0, 13.0, 2.0

# Among plans that are this close to the best one, the one with the fewest decisions comes first.
_NEAR = 0.97


def leads(outcome: PlanMeasurement) -> bool:
    """Returns True if a thorough measurement keeps a plan ahead of the default.

    The whole interval must lie above 1, and further from it than the ratio of the default to
    itself, in whichever direction that is off; the median must lie above ``LEAST_LEAD``. A gain of
    less than a microsecond is lost to the call of another function.
    """
    measured = outcome.measured
    if measured is None or not outcome.thorough:
        return False
    noise = max(measured.control, 1 / measured.control)
    gained = measured.default_seconds - measured.seconds
    return measured.low > noise and measured.ratio >= LEAST_LEAD and gained >= LEAST_GAIN


def has_lost(before: Sequence[PlanMeasurement], now: Sequence[PlanMeasurement]) -> bool:
    """Returns True if a plan need not be in the final again.

    It has lost its lead in this race, or twice in a row; or its outputs were refused.

    Args:
        before: Thorough outcomes of the plan in earlier races, from old to new.
        now: Its thorough outcomes in this race.
    """
    finals = [*before, *now]
    if any(outcome.measured is None for outcome in finals) or not all(map(leads, now)):
        return True
    return len(finals) > 1 and not any(map(leads, finals[-2:]))


def finalists(
    before: Sequence[PlanMeasurement], now: Sequence[PlanMeasurement], doubtful: bool = False
) -> list[PlanMeasurement]:
    """Returns the plans that lead in their screening, those that are to be measured again first.

    Args:
        before: Outcomes of earlier races, from old to new.
        now: Outcomes of this race.
        doubtful: True returns those whose interval reaches below 1. Hardly one of ten of them keeps
            its lead, so they are not worth ending a search for.
    """
    earlier, later = _finals(before), _finals(now)

    def lost(outcome: PlanMeasurement) -> bool:
        digest = outcome.plan.digest
        return has_lost(earlier.get(digest, ()), later.get(digest, ()))

    screened = [outcome for outcome in (*before, *now) if not outcome.thorough]
    ahead = [outcome for outcome in screened if outcome.ratio >= LEAST_LEAD]
    ahead = [
        outcome for outcome in ahead if doubtful == (safe_ratio(outcome) <= 1) and not lost(outcome)
    ]
    best = max(map(safe_ratio, ahead), default=0.0)

    def rank(outcome: PlanMeasurement) -> tuple[bool, float, float]:
        near = safe_ratio(outcome) >= _NEAR * best
        return not near, outcome.plan.num_decisions if near else 0, -safe_ratio(outcome)

    return sorted(ahead, key=rank)


def in_final(leading: Sequence[PlanMeasurement], most: int) -> list[PlanMeasurement]:
    """Returns the plans of a final: the first one, the simplest one, and those that follow.

    Args:
        leading: Result of ``finalists``.
        most: Largest number of plans.
    """
    simplest = sorted(leading, key=lambda outcome: outcome.plan.num_decisions)[:1]
    by_plan = {outcome.plan.digest: outcome for outcome in (*leading[:1], *simplest, *leading)}
    return list(by_plan.values())[:most]


def may_beat(outcome: PlanMeasurement, winner: PlanMeasurement) -> bool:
    """Returns True if a plan may be faster than a winner of the final, by its screening.

    One on a busy machine says little about that.
    """
    measured = outcome.measured
    return measured is not None and (measured.busy or measured.high >= safe_ratio(winner))


def winner_of(confirmed: Sequence[PlanMeasurement]) -> PlanMeasurement | None:
    """Returns the simplest of the plans that kept their lead and are near the fastest one.

    On a busy machine more plans are near. If threads wait for one of them that others delay, a load
    L is not all of what a plan with several threads loses: its time comes out up to 1 + L too long
    on two CPUs, beside a plan with one thread.
    """
    loads = (each.measured.load for each in confirmed if each.measured and each.measured.busy)
    least = _NEAR / (1 + max(loads, default=0.0)) * max(map(safe_ratio, confirmed), default=0.0)
    near = (outcome for outcome in confirmed if safe_ratio(outcome) >= least)
    return min(near, key=lambda each: (each.plan.num_decisions, -safe_ratio(each)), default=None)


def safe_ratio(outcome: PlanMeasurement) -> float:
    """Returns the lower end of the interval of a plan's ratio; 0 if it was not timed."""
    return outcome.measured.low if outcome.measured else 0.0


def run_seconds(outcomes: Sequence[PlanMeasurement]) -> float:
    """Returns the seconds of a run of the default; 0 if it was not timed."""
    # One of many earlier measurements may have been on a busy machine.
    runs = [outcome.measured.default_seconds for outcome in outcomes if outcome.measured]
    return statistics.median(runs or [0.0])


def final_seconds(outcomes: Sequence[PlanMeasurement], plans: int, effort: Effort) -> float:
    """Returns about how many seconds a final takes.

    Args:
        outcomes: What was measured before it.
        plans: Number of its plans.
        effort: Effort in one of its processes.
    """
    timed = [outcome for outcome in outcomes if outcome.measured is not None]
    if not timed:
        return _START + CONFIRMATIONS * effort.max_seconds
    # Others, such as loops unrolled too far, may compile longer, and are not in the final.
    first = heapq.nlargest(_COMPILED, timed, key=lambda outcome: outcome.ratio)
    likely = [outcome.compile_seconds for outcome in first if outcome.ratio >= 1]
    compilation = max(likely or [statistics.median(each.compile_seconds for each in timed)])
    started = _START + (_COMPILATIONS + _COMPILATIONS * plans) * compilation
    run = run_seconds(outcomes)
    if run >= LONG_RUN:
        checks = max(timed, key=lambda outcome: outcome.ratio).checks
        equal = checks is not None and checks.verdict == "equal"
        compared = _LONG_EQUAL if equal else _LONG_CLOSE
        return started + plans * (CONFIRMATIONS * _LONG_TURNS + compared) * run
    turns = 3 * effort.pairs * max(effort.block_seconds, run)  # with the control
    timing = CONFIRMATIONS * min(effort.max_seconds, turns)
    return started + plans * (timing + _COMPARED * run)


def _finals(outcomes: Sequence[PlanMeasurement]) -> dict[str, list[PlanMeasurement]]:
    """Returns the thorough outcomes by the digest of their plan."""
    by_plan: dict[str, list[PlanMeasurement]] = {}
    for outcome in outcomes:
        if outcome.thorough:
            by_plan.setdefault(outcome.plan.digest, []).append(outcome)
    return by_plan
