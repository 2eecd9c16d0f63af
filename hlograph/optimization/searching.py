"""One search for the fastest plan of a program, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from hlograph.measuring.trial import Job, Outcome
from hlograph.optimization.measurements import Measurements
from hlograph.optimization.methods import MakeMethod
from hlograph.optimization.race import Race, Watch, unwatched
from hlograph.optimization.report import Report
from hlograph.plans import Numerics, Plan
from hlograph.plans.flags import allows_fast_math


def search(
    job: Job,
    methods: Mapping[str, MakeMethod],
    budget: float,
    measurements: Measurements,
    *,
    watch: Watch = unwatched,
    say: Callable[[str], None] = lambda sentence: None,
    first: Iterable[Plan] = (),
    again: bool = False,
    spent: float = 0.0,
) -> Report:
    """Searches for the fastest plan of a program, whatever a store of plans has.

    Args:
        job: The program and the conditions.
        methods: Methods by name.
        budget: Seconds of the search.
        measurements: What was measured before, to which outcomes are added.
        watch: Function that is told of each outcome.
        say: Function that shows the user a sentence.
        first: Plans to measure before those of the methods.
        again: True measures again, whatever was measured before.
        spent: Seconds of the budget that are over, in a search that goes on.

    Returns:
        The report, with the plan.

    Raises:
        NotExecutableError: jaxlib does not compile or run the program.
        HloError: The program cannot be measured.
    """
    begun = time.monotonic() - spent
    race = Race(job, methods, budget, measurements, watch, say, first, again=again, spent=spent)
    winner = race.run()
    return Report(
        job.program.name,
        plan_of(job, winner),
        _conclusion(winner, race),
        job.numerics,
        winner,
        tuple(race.outcomes),
        time.monotonic() - begun,
        before=race.before,
        interrupted=race.interrupted,
    )


def plan_of(job: Job, winner: Outcome | None) -> Plan:
    """Returns the plan of a winner, with its speed and class; the empty plan if there is none."""
    name, fingerprint = job.program.name, job.program.fingerprint
    if winner is None or winner.measured is None or winner.checks is None:
        return Plan(name, fingerprint)
    numerics: Numerics = job.numerics
    if winner.checks.verdict == "equal" and not allows_fast_math(winner.plan.flags):
        numerics = "exact"
    found = replace(winner.plan, program=name, fingerprint=fingerprint, numerics=numerics)
    return found.measured_at(winner.measured)


def _conclusion(winner: Outcome | None, race: Race) -> str:
    ended = ", ended by the user" if race.interrupted else ""
    if winner is None or winner.measured is None:
        return f"no plan kept a lead over jaxlib's default{ended}"
    return f"{winner.measured}{ended}"
