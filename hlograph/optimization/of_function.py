"""``hlograph.optimize``: a function, measurably faster, never slower, never wrong."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from hlograph.measuring.trial import Job
from hlograph.optimization.arguments import check_arguments, inputs_of, jitted
from hlograph.optimization.background import in_background
from hlograph.optimization.function import OptimizedFunction
from hlograph.optimization.optimizing import StoreLike, optimize_program, report_of_given
from hlograph.optimization.store import Store
from hlograph.plans import Numerics, Plan, PlanError, compile_lowered
from hlograph.programs import Program
from hlograph.reading.sources import is_lowered


def optimize(
    function: Callable[..., Any] | Any,
    /,
    *args: Any,
    budget: float = 60.0,
    numerics: Numerics = "close",
    plan: Plan | str | os.PathLike[str] | None = None,
    methods: Iterable[str] | str | None = None,
    store: StoreLike = None,
    measure_again: bool = False,
    search_further: bool = False,
    background: bool = False,
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
        methods: Names of the methods that propose plans, or one; None takes all.
        store: Store of plans, or its folder or URL; None is that of the user.
        measure_again: True searches again although the store has a plan, which takes part in the
            search, and uses no earlier measurements. It also measures a ``plan`` that was made on
            another machine. The store knows nothing of the budget and the methods of a search.
        search_further: True goes on with the search although the store has a plan, from all that
            was measured before: with other methods, or a larger budget.
        background: True returns at once, and searches in a process beside the program. Until that
            has found a plan, the function runs by the plan of the store, or as ``jax.jit`` compiles
            it; see ``OptimizedFunction.wait`` and ``close``. No progress is shown.
        progress: True shows a progress bar; None shows one on a terminal.
        **kwargs: Example keyword arguments. Those that are named like one of the above are passed
            by position, or bound first by ``functools.partial``.

    Returns:
        The function, with ``plan`` and ``report``.

    Raises:
        HloError: The function has static arguments, or the call is inside a transformation of jax.
        ProgramError: The function is lowered for another platform than the CPU or for several
            devices, calls back into Python, changes a ``jax.Ref``, has compiler options, or takes
            arguments of other layouts than the default; or a setting of jax changes what jaxlib
            does by default.
        PlanError: The given plan cannot be read or carried out.
        PlanRefusedError: It is for another program, jaxlib, CPU or number of cores, or its results
            are of a looser class.
    """
    jit = None if is_lowered(function) else jitted(function)
    lowering: Any = function if jit is None else jit.lower(*args, **kwargs)
    program = Program.of(lowering)
    inputs = None
    if jit is not None or args or kwargs:
        check_arguments(lowering, args, kwargs)
        inputs = inputs_of(lowering, args, kwargs)
    job = Job(program, inputs, numerics)

    def compile_plan(plan: Plan) -> Callable[..., Any] | None:
        return None if plan.is_empty and jit is not None else compile_lowered(lowering, plan)

    if plan is not None:
        report = report_of_given(job, plan, measure_again=measure_again)
        return OptimizedFunction(jit, compile_plan(report.plan), report)
    methods = [methods] if isinstance(methods, str) else methods
    asked: dict[str, Any] = {
        "budget": budget,
        "methods": None if methods is None else tuple(methods),
        "store": store if isinstance(store, Store) else Store(store),
        "measure_again": measure_again,
        "search_further": search_further,
    }
    if background:
        return in_background(jit, compile_plan, job, **asked)
    report = optimize_program(job, progress=progress, **asked)
    try:
        return OptimizedFunction(jit, compile_plan(report.plan), report)
    except PlanError:
        if not report.from_store:
            raise
    # A stored plan that cannot be carried out any more must not stand in the way.
    asked["measure_again"] = True
    report = optimize_program(job, progress=progress, **asked)
    return OptimizedFunction(jit, compile_plan(report.plan), report)
