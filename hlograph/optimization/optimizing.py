"""Searches for the fastest plan of a program, with a store of plans."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from hlograph.execution.equivalence.arrays import Array
from hlograph.measuring.implementations import plain_plan
from hlograph.measuring.service import Measurer
from hlograph.measuring.trial import FINAL, Job, MeasurementRequest, PlanMeasurement
from hlograph.optimization.cache import CacheKey, Store, plans_of_earlier_version
from hlograph.optimization.first_use import note_judged, refusal_here
from hlograph.optimization.leading import leads
from hlograph.optimization.measurements import Measurements
from hlograph.optimization.objectives import by_objective, excess_of, within_memory
from hlograph.optimization.process_settings import advice, with_kept_memory
from hlograph.optimization.race import Race, plan_of, start_workers
from hlograph.optimization.report import Report
from hlograph.optimization.search_settings import SearchSettings
from hlograph.optimization.watching import RaceBar
from hlograph.plans import NUMERICS, Numerics, Plan, PlanError, PlanRefusedError
from hlograph.plans.flags import allows_fast_math


def optimize_program(job: Job, settings: SearchSettings | None = None) -> Report:
    """Searches for the fastest plan of a program, as ``optimize`` does for a function.

    Args:
        job: The program, its inputs and the class of results.
        settings: Settings of the search; None takes the defaults.

    Returns:
        The report, with the plan.

    Raises:
        NotExecutableError: jaxlib does not compile or run the program.
        HloError: The program cannot be measured, or the numerics class is none.
    """
    check_numerics(job.numerics)
    settings = settings or SearchSettings()
    store = settings.store
    searches_again = settings.measure_again or settings.search_further
    if searches_again or CacheKey.without_engine(job) not in store:
        start_workers()  # before the engine is loaded, which takes a quarter of a second
    key = CacheKey.of(job)
    stored, refusal = stored_plan(job, store)
    if stored is not None and not searches_again:
        return unmeasured(job, stored)
    known = stored if stored is not None else fitting(job, store.outdated(key))
    again = [] if known is None else [replace(known, machine=None, measured=None, kept_memory=None)]
    first = chain(again, plans_of_earlier_version(store, job))
    measurements = Measurements(key, given=job.given)
    with RaceBar(settings.budget, settings.progress) as bar:
        report = Race(job, settings, measurements, bar, bar.say, first).search()
        report = replace(report, advice=advice(job))
        if refusal:
            words = f"{report.conclusion}; the stored plan is not used: {refusal}"
            report = replace(report, conclusion=words)
        report = with_kept_memory(job, report, settings.budget, keeps=settings.process)
    # A search that was cut short, or timed nothing, does not say that there is no faster plan.
    new = report.outcomes[report.before :]
    if report.plan.is_empty and stored is not None and _is_unbeaten(stored, new):
        return replace(report, plan=stored, conclusion=_found(stored))
    plain = plain_plan(job.program).digest
    timed = any(outcome.measured and outcome.plan.digest != plain for outcome in new)
    # A plan that was refused on these inputs may be right on others.
    is_refused = stored is None and not refusal and fitting(job, store.get(key)) is not None
    keeps = report.plan.is_empty and is_refused
    is_whole = timed and not (report.interrupted or report.unconfirmed)
    if not keeps and (not report.plan.is_empty or is_whole):
        _put(store, job, report.plan, recipe=not report.interrupted)
        note_judged(job, report.plan)
    return report


def check_numerics(numerics: str) -> None:
    """Checks the name of a numerics class.

    Raises:
        PlanError: There is none of that name.
    """
    if numerics not in NUMERICS:
        raise PlanError(f"expected numerics of {', '.join(NUMERICS)}, got {numerics!r}")


def unmeasured(job: Job, plan: Plan, conclusion: str = "") -> Report:
    """Returns the report of a plan that is not measured now.

    Args:
        job: The job.
        plan: The plan.
        conclusion: See ``Report``; empty for a plan of the store.
    """
    conclusion = conclusion or _found(plan)
    return Report(job.program.name, plan, conclusion, job.numerics, from_store=True)


def _is_unbeaten(stored: Plan, new: Sequence[PlanMeasurement]) -> bool:
    """Returns True if a search says nothing against the plan that the store has."""
    against = (outcome for outcome in new if outcome.thorough or outcome.measured is None)
    return not (stored.is_empty or any(outcome.plan.digest == stored.digest for outcome in against))


def report_of_given(
    job: Job, plan: Plan | str | os.PathLike[str], *, measure_again: bool
) -> Report:
    """Returns the report of a plan that the user gave, or of its file.

    Raises:
        PlanError: The file cannot be read.
        PlanRefusedError: The plan is for another program, machine or numerics class.
    """
    check_numerics(job.numerics)
    plan = plan if isinstance(plan, Plan) else Plan.load(plan)
    plan.check(job.program, here=not measure_again)
    needs: Numerics = "fast" if allows_fast_math(plan.flags) else plan.numerics
    if NUMERICS.index(needs) > NUMERICS.index(job.numerics):
        raise PlanRefusedError(
            f"this plan's results are of the class {needs!r}, and {job.numerics!r} was asked for: "
            f"call hlograph.optimize with numerics={needs!r}"
        )
    # A plan that stands for a wrong default cannot be timed beside that.
    if plan.default_fault or not measure_again:
        if excess := excess_of(plan.measured, job.max_memory_ratio):
            raise PlanRefusedError(f"this plan {excess}: allow more, or make another plan")
        if refusal := refusal_here(job, plan):
            default = Plan(default_fault=plan.default_fault)
            return unmeasured(job, default, f"the given plan is not used: {refusal}")
        return unmeasured(job, plan, f"{plan.measured or 'not measured'}, by the given plan")
    with Measurer(job, workers=1) as measurer:
        (outcome,) = measurer.measure([MeasurementRequest(plan, FINAL)])
    Measurements(CacheKey.of(job), given=job.given).add(outcome)
    outcome = within_memory(outcome, job)
    winner = outcome if leads(by_objective(outcome, job)) else None
    words = (
        "the given plan holds here"
        if winner
        else f"the given plan does not pay here{_why(outcome)}"
    )
    return Report(job.program.name, plan_of(job, winner), words, job.numerics, outcome, (outcome,))


class StoredPlan(NamedTuple):
    """The plan that a store has for a job.

    Attributes:
        plan: The plan; None if there is none, if hlograph was updated since it was measured, or if
            its outputs were once refused on the job's inputs, or it fails on this host.
        refusal: Why a plan is not used that fails on this host; empty otherwise.
    """

    plan: Plan | None
    refusal: str = ""


def stored_plan(
    job: Job, store: Store, inputs: Callable[[], Sequence[Array] | None] | None = None
) -> StoredPlan:
    """Returns the plan that a store has for a job, which is tried if that was not done here.

    Args:
        job: The job.
        store: The store.
        inputs: Returns the job's inputs, which may take long to copy; None takes those it has.
    """
    for key in CacheKey.all_of(job):
        plan = fitting(job, store.get(key))
        if plan is None:
            continue
        given = job.given if inputs is None else inputs()
        # Comparisons with a wrong default say nothing.
        if not plan.default_fault and Measurements(key, given=given).refuse(plan):
            return StoredPlan(None)
        refusal = refusal_here(replace(job, given=given), plan)
        return StoredPlan(None if refusal else plan, refusal)
    return StoredPlan(None)


def fitting(job: Job, plan: Plan | None) -> Plan | None:
    """Returns a stored plan if it is one for the job: a store may be shared, or hold old plans."""
    if plan is None:
        return None
    try:
        plan.check(job.program)
    except PlanRefusedError:
        return None
    if excess_of(plan.measured, job.max_memory_ratio):
        return None
    fits = job.numerics == "fast" or not allows_fast_math(plan.flags)
    return plan if fits else None


def _put(store: Store, job: Job, plan: Plan, *, recipe: bool) -> None:
    try:
        for key in CacheKey.all_of(job):
            store.put(key, plan)
        if recipe and not plan.is_empty:
            store.put_recipe(job, plan)
    except OSError as error:  # the plan that was found is worth more than the store
        warnings.warn(f"cannot store the plan: {error}", stacklevel=4)


def _found(plan: Plan) -> str:
    kept = f"; {plan.kept_memory.summary}" if plan.kept_memory else ""
    if plan.is_empty:
        return f"no plan was faster than jaxlib's default when it was searched for{kept}"
    return f"{plan.measured or 'not measured'}, from the store{kept}"


def _why(outcome: PlanMeasurement) -> str:
    if outcome.error:
        return f": {outcome.error}"
    return f": {outcome.measured}" if outcome.measured else ""
