"""Searches for the fastest plan of a program, with a store of plans."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array
from hlograph.measuring.service import Measurer
from hlograph.measuring.trial import FINAL, Job, Outcome, Trial
from hlograph.optimization.leading import leads
from hlograph.optimization.measurements import Measurements
from hlograph.optimization.methods import MakeMethod
from hlograph.optimization.methods import methods as methods_by_name
from hlograph.optimization.progress import RaceBar
from hlograph.optimization.report import Report
from hlograph.optimization.searching import plan_of, search
from hlograph.optimization.store import Store, key_of
from hlograph.optimization.versions import plans_of_earlier_version, put_recipe
from hlograph.plans import NUMERICS, Numerics, Plan, PlanError, PlanRefusedError
from hlograph.plans.flags import allows_fast_math
from hlograph.programs import Program

StoreLike = Store | str | os.PathLike[str] | None


def optimize_program(
    job: Job | Program,
    *,
    given: Sequence[Array] | None = None,
    budget: float = 60.0,
    methods: Iterable[str] | None = None,
    store: StoreLike = None,
    measure_again: bool = False,
    search_further: bool = False,
    progress: bool | None = None,
    numerics: Numerics = "close",
) -> Report:
    """Searches for the fastest plan of a program, as ``optimize`` does for a function.

    Args:
        job: The program, or a job with its inputs and numerics class.
        given: Inputs of a program, one array for each parameter; None takes random ones.
        budget: See ``optimize``.
        methods: See ``optimize``.
        store: See ``optimize``.
        measure_again: See ``optimize``.
        search_further: See ``optimize``.
        progress: See ``optimize``.
        numerics: Class of results of a program.

    Returns:
        The report, with the plan.

    Raises:
        NotExecutableError: jaxlib does not compile or run the program.
        HloError: The program cannot be measured.
    """
    if isinstance(job, Program):
        job = Job(job, given, numerics)
    makers = check_search(job, budget, methods)  # whatever the store has
    store = store if isinstance(store, Store) else Store(store)
    key = key_of(job)
    stored = stored_plan(job, store)
    if stored is not None and not (measure_again or search_further):
        return unmeasured(job, stored)
    known = stored if stored is not None else fitting(job, store.outdated(key))
    again = [] if known is None else [replace(known, machine=None, measured=None)]
    first = chain(again, plans_of_earlier_version(store, job))
    with RaceBar(budget, progress) as bar:
        report = search(
            job,
            makers,
            budget,
            Measurements(key, given=job.given),
            watch=bar,
            say=bar.say,
            first=first,
            again=measure_again,
        )
    # A search that was cut short, or timed nothing, does not say that there is no faster plan.
    new = report.outcomes[report.before :]
    if report.plan.is_empty and stored is not None and _is_unbeaten(stored, new):
        return replace(report, plan=stored, conclusion=_found(stored))
    timed = any(outcome.measured is not None for outcome in new)
    # A plan that was refused on these inputs may be right on others.
    keeps = report.plan.is_empty and stored is None and fitting(job, store.get(key)) is not None
    if not keeps and (not report.plan.is_empty or (timed and not report.interrupted)):
        _put(store, key, job, report.plan, recipe=not report.interrupted)
    return report


def check_search(job: Job, budget: float, names: Iterable[str] | None) -> dict[str, MakeMethod]:
    """Checks what a search is asked for.

    Returns:
        The methods by name.

    Raises:
        HloError: The numerics class or the budget is none, or there is no such method.
    """
    _check_numerics(job.numerics)
    if isinstance(budget, bool) or not isinstance(budget, int | float) or not budget > 0:
        raise HloError(f"expected a budget above 0 seconds, got {budget!r}")
    return methods_by_name(names)


def unmeasured(job: Job, plan: Plan, conclusion: str = "") -> Report:
    """Returns the report of a plan that is not measured now.

    Args:
        job: The job.
        plan: The plan.
        conclusion: See ``Report``; empty for a plan of the store.
    """
    conclusion = conclusion or _found(plan)
    return Report(job.program.name, plan, conclusion, job.numerics, from_store=True)


def _check_numerics(numerics: str) -> None:
    if numerics not in NUMERICS:
        raise PlanError(f"expected numerics of {', '.join(NUMERICS)}, got {numerics!r}")


def _is_unbeaten(stored: Plan, new: Sequence[Outcome]) -> bool:
    """Returns True if a search says nothing against the plan that the store has."""
    against = (outcome for outcome in new if outcome.thorough or outcome.measured is None)
    return not (stored.is_empty or any(one.plan.digest == stored.digest for one in against))


def report_of_given(
    job: Job, plan: Plan | str | os.PathLike[str], *, measure_again: bool
) -> Report:
    """Returns the report of a plan that the user gave, or of its file.

    Raises:
        PlanError: The file cannot be read.
        PlanRefusedError: The plan is for another program, machine or numerics class.
    """
    _check_numerics(job.numerics)
    plan = plan if isinstance(plan, Plan) else Plan.load(plan)
    plan.check(job.program.fingerprint, here=not measure_again)
    needs: Numerics = "fast" if allows_fast_math(plan.flags) else plan.numerics
    if NUMERICS.index(needs) > NUMERICS.index(job.numerics):
        raise PlanRefusedError(
            f"this plan's results are of the class {needs!r}, and {job.numerics!r} was asked for: "
            f"call hlograph.optimize with numerics={needs!r}"
        )
    if not measure_again:
        return unmeasured(job, plan, f"{plan.measured or 'not measured'}, by the given plan")
    with Measurer(job, workers=1) as measurer:
        (outcome,) = measurer.measure([Trial(plan, FINAL)])
    Measurements(key_of(job), given=job.given).add(outcome)
    winner = outcome if leads(outcome) else None
    words = (
        "the given plan holds here"
        if winner
        else f"the given plan does not pay here{_why(outcome)}"
    )
    return Report(job.program.name, plan_of(job, winner), words, job.numerics, outcome, (outcome,))


def stored_plan(job: Job, store: Store) -> Plan | None:
    """Returns the plan that a store has for a job.

    Returns:
        The plan; None if there is none, if hlograph was updated since it was measured, or if its
        outputs were once refused on the job's inputs.
    """
    key = key_of(job)
    plan = fitting(job, store.get(key))
    refused = plan is not None and Measurements(key, given=job.given).refuse(plan)
    return None if refused else plan


def fitting(job: Job, plan: Plan | None) -> Plan | None:
    """Returns a stored plan if it is one for the job: a store may be shared, or hold old plans."""
    if plan is None:
        return None
    try:
        plan.check(job.program.fingerprint)
    except PlanRefusedError:
        return None
    fits = job.numerics == "fast" or not allows_fast_math(plan.flags)
    return plan if fits else None


def _put(store: Store, key: str, job: Job, plan: Plan, *, recipe: bool) -> None:
    try:
        store.put(key, plan)
        if recipe and not plan.is_empty:
            put_recipe(store, job, plan)
    except OSError as error:  # the plan that was found is worth more than the store
        warnings.warn(f"cannot store the plan: {error}", stacklevel=4)


def _found(plan: Plan) -> str:
    if plan.is_empty:
        return "no plan was faster than jaxlib's default when it was searched for"
    return f"{plan.measured or 'not measured'}, from the store"


def _why(outcome: Outcome) -> str:
    if outcome.error:
        return f": {outcome.error}"
    return f": {outcome.measured}" if outcome.measured else ""
