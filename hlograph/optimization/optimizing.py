"""``hlograph.optimize``: a function, measurably faster, never slower, never wrong."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array
from hlograph.measuring.service import Measurer
from hlograph.measuring.trial import FINAL, Job, Outcome, Trial
from hlograph.optimization.arguments import (
    check_arguments,
    inputs_of,
    is_lowered,
    jitted,
)
from hlograph.optimization.function import OptimizedFunction
from hlograph.optimization.measurements import Measurements
from hlograph.optimization.methods import methods as methods_by_name
from hlograph.optimization.progress import RaceBar
from hlograph.optimization.race import leads
from hlograph.optimization.report import Report
from hlograph.optimization.searching import plan_of, search
from hlograph.optimization.store import Store, key_of
from hlograph.optimization.versions import plans_of_earlier_version, put_recipe
from hlograph.plans import (
    NUMERICS,
    Numerics,
    Plan,
    PlanError,
    PlanRefusedError,
    compile_lowered,
)
from hlograph.plans.flags import allows_fast_math
from hlograph.programs import Program

StoreLike = Store | str | os.PathLike[str] | None


def optimize(
    function: Callable[..., Any] | Any,
    *args: Any,
    budget: float = 60.0,
    numerics: Numerics = "close",
    plan: Plan | str | os.PathLike[str] | None = None,
    methods: Iterable[str] | None = None,
    store: StoreLike = None,
    measure_again: bool = False,
    search_further: bool = False,
    progress: bool | None = None,
    **kwargs: Any,
) -> OptimizedFunction:
    """Returns a function compiled by the fastest plan found for it, or as ``jax.jit`` does.

    The default of jaxlib is always a candidate. The winner is measured again in a fresh process,
    where its whole interval must be ahead, and its outputs must be those of the default on random
    and adversarial inputs; otherwise the plan is empty, and the function is that of ``jax.jit``.
    The plan is stored, so that the next call takes no time.

    Args:
        function: A function of arrays, a function of ``jax.jit``, or a ``jax.stages.Lowered``.
        *args: Example arguments: arrays, whose values are used for measuring, or
            ``jax.ShapeDtypeStruct``. A lowering needs none.
        budget: Seconds to search for. Slow programs may take longer: one plan is measured in
            any case, and the best one again.
        numerics: Class of results: ``exact`` (equal bits), ``close`` (rounding alone) or ``fast``
            (fast math allowed).
        plan: Plan, or file of a plan, to apply instead of a search.
        methods: Names of the methods that propose plans; None takes all.
        store: Store of plans, or its folder or URL; None is that of the user.
        measure_again: True searches again although the store has a plan, which takes part in the
            search, and uses no earlier measurements. It also measures a ``plan`` that was made on
            another machine. The store knows nothing of the budget and the methods of a search.
        search_further: True goes on with the search although the store has a plan, from all that
            was measured before: with other methods, or a larger budget.
        progress: True shows a progress bar; None shows one on a terminal.
        **kwargs: Example keyword arguments.

    Returns:
        The function, with ``plan`` and ``report``.

    Raises:
        HloError: The function has static arguments, calls back into Python, or runs on several
            devices.
        PlanError: The given plan cannot be read or carried out.
        PlanRefusedError: It is for another program, jaxlib, CPU or number of cores, or its results
            are of a looser class.
    """
    jit = None if is_lowered(function) else jitted(function)
    lowering: Any = function if jit is None else jit.lower(*args, **kwargs)
    given = None
    if jit is not None or args or kwargs:
        check_arguments(lowering, args, kwargs)
        given = inputs_of(lowering, args, kwargs)
    job = Job(Program.of(lowering), given, numerics)

    def report_of(again: bool) -> Report:
        if plan is not None:
            return _given(job, plan, again)
        return optimize_program(
            job,
            budget=budget,
            methods=methods,
            store=store,
            measure_again=again,
            search_further=search_further,
            progress=progress,
        )

    report = report_of(measure_again)
    try:
        return _function_of(jit, lowering, report)
    except PlanError:
        if plan is not None or not report.from_store:
            raise
        # A stored plan that cannot be carried out any more must not stand in the way.
        return _function_of(jit, lowering, report_of(True))


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
    if job.numerics not in NUMERICS:
        raise PlanError(f"expected numerics of {', '.join(NUMERICS)}, got {job.numerics!r}")
    if isinstance(budget, bool) or not isinstance(budget, int | float) or not budget > 0:
        raise HloError(f"expected a budget above 0 seconds, got {budget!r}")
    makers = methods_by_name(methods)  # an unknown name is an error whatever the store has
    store = store if isinstance(store, Store) else Store(store)
    key = key_of(job)
    stored = fitting(job, store.get(key))
    if stored is not None and not (measure_again or search_further):
        return Report(job.program.name, stored, _found(stored), job.numerics, from_store=True)
    known = [] if stored is None else [replace(stored, machine=None, measured=None)]
    first = chain(known, plans_of_earlier_version(store, job))
    with RaceBar(budget, progress) as bar:
        report = search(
            job,
            makers,
            budget,
            Measurements(key),
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
    if not report.plan.is_empty or (timed and not report.interrupted):
        _put(store, key, job, report.plan, recipe=not report.interrupted)
    return report


def _is_unbeaten(stored: Plan, new: Sequence[Outcome]) -> bool:
    """Returns True if a search says nothing against the plan that the store has."""
    against = (outcome for outcome in new if outcome.thorough or outcome.measured is None)
    return not (stored.is_empty or any(one.plan.digest == stored.digest for one in against))


def _given(job: Job, plan: Plan | str | os.PathLike[str], measure_again: bool) -> Report:
    """Returns the report of a plan that the user gave."""
    plan = plan if isinstance(plan, Plan) else Plan.load(plan)
    plan.check(job.program.fingerprint, here=not measure_again)
    needs: Numerics = "fast" if allows_fast_math(plan.flags) else plan.numerics
    if NUMERICS.index(needs) > NUMERICS.index(job.numerics):
        raise PlanRefusedError(
            f"this plan's results are of the class {needs!r}, and {job.numerics!r} was asked for: "
            f"call hlograph.optimize with numerics={needs!r}"
        )
    if not measure_again:
        return Report(job.program.name, plan, _found(plan), job.numerics, from_store=True)
    with Measurer(job, workers=1) as measurer:
        (outcome,) = measurer.measure([Trial(plan, FINAL)])
    Measurements(key_of(job)).add(outcome)
    winner = outcome if leads(outcome) else None
    words = (
        "the given plan holds here"
        if winner
        else f"the given plan does not pay here{_why(outcome)}"
    )
    return Report(job.program.name, plan_of(job, winner), words, job.numerics, outcome, (outcome,))


def _function_of(jit: Any, lowering: Any, report: Report) -> OptimizedFunction:
    if report.plan.is_empty and jit is not None:
        return OptimizedFunction(jit, None, report)
    return OptimizedFunction(jit, compile_lowered(lowering, report.plan), report)


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
