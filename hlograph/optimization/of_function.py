"""``hlograph.optimize``: a function, measurably faster, never slower, never wrong."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from hlograph.errors import HloError, HloWarning
from hlograph.execution.equivalence.arrays import Array
from hlograph.measuring.trial import MAX_MEMORY_RATIO, Job, Objective
from hlograph.optimization.background import in_background
from hlograph.optimization.cache import Store, StoreLike
from hlograph.optimization.function import OptimizedFunction
from hlograph.optimization.judging import warn_of_default
from hlograph.optimization.optimizing import optimize_program, report_of_given
from hlograph.optimization.search_settings import SearchSettings, method_names
from hlograph.plans import Numerics, Plan, PlanError, Program, compile_lowered
from hlograph.reading.sources import is_lowered

# Larger arguments are not sent to the workers, which measure on random ones then.
_MOST_BYTES = 4 << 30


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
    objective: Objective = "time",
    max_memory_ratio: float = MAX_MEMORY_RATIO,
    process: bool = True,
    progress: bool | None = None,
    **kwargs: Any,
) -> OptimizedFunction:
    """Returns a function compiled by the fastest plan found for it, or as ``jax.jit`` does.

    The default of jaxlib is always a candidate. The winner is measured again in two fresh
    processes, where its whole interval must be ahead, and its outputs must be those of the default
    on random and adversarial inputs; otherwise the plan is empty, and the function is that of
    ``jax.jit``. The plan is stored, so that the next call takes no time.

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
        objective: What is made small: ``time``, or ``memory``, the peak memory at no more than 1.1
            times the default's time.
        max_memory_ratio: Largest peak memory of a plan, as a multiple of the default's;
            ``math.inf`` allows any.
        process: True also measures what it brings that the process keeps freed memory, and lets
            this process keep it from then on if that pays; see ``docs/speed.md``.
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
    job = Job(program, inputs, numerics, objective=objective, max_memory_ratio=max_memory_ratio)

    def compile_plan(plan: Plan) -> Callable[..., Any] | None:
        return None if plan.is_empty and jit is not None else compile_lowered(lowering, plan)

    if plan is not None:
        report = report_of_given(job, plan, measure_again=measure_again)
        warn_of_default(report, stacklevel=3)
        return OptimizedFunction(jit, compile_plan(report.plan), report, process)
    settings = SearchSettings(
        budget,
        method_names(methods),
        Store.of(store),
        measure_again,
        search_further,
        progress,
        process=process,
    )
    if background:
        return in_background(jit, compile_plan, job, settings)
    failure: PlanError | None = None
    for again in (settings, replace(settings, measure_again=True)):
        report = optimize_program(job, again)
        warn_of_default(report, stacklevel=3)
        try:
            return OptimizedFunction(jit, compile_plan(report.plan), report, process)
        except PlanError as error:
            failure = error
        # A stored plan that cannot be carried out any more must not stand in the way.
        if not report.from_store:
            break
    words = f"jaxlib's default is kept: a plan was found that cannot be carried out here: {failure}"
    warnings.warn(f"{program.name}: {words}", HloWarning, stacklevel=2)
    default = Plan(default_fault=report.plan.default_fault)
    report = replace(report, plan=default, conclusion=words)
    return OptimizedFunction(jit, compile_plan(default), report, process)


def jitted(function: Any) -> Any:
    """Returns a function that ``jax.jit`` returned as it is, and another one jitted.

    Raises:
        HloError: It is no function.
    """
    import jax

    if hasattr(function, "lower") and callable(function):
        return function
    if not callable(function):
        raise HloError(
            "expected a function, a function of jax.jit, or a jax.stages.Lowered, got "
            f"{type(function).__qualname__}"
        )
    return jax.jit(function)


def check_arguments(lowered: Any, args: Any, kwargs: Any) -> None:
    """Checks that a lowered function takes all of its arguments when it is called.

    Raises:
        HloError: Some are static, and a compiled function of jax is called without them; or they
            are being traced, and have no values.
    """
    import jax
    from jax.core import Tracer

    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((args, kwargs))):
        raise HloError(
            "expected arrays or jax.ShapeDtypeStruct, got arguments that jax is tracing: call "
            "hlograph.optimize outside of jit, grad, vmap and other transformations"
        )
    taken = jax.tree.structure((args, kwargs))
    if lowered.in_tree != taken:
        raise HloError(
            "expected arguments of a function without static arguments (static_argnums, "
            "static_argnames), or those that it was lowered with. Bind static ones first, as in "
            "hlograph.optimize(jax.jit(functools.partial(f, mode='train')), x)"
        )


def inputs_of(lowered: Any, args: Any, kwargs: Any) -> list[Array] | None:
    """Returns the arguments as one numpy array for each parameter of the lowered module.

    Raises:
        HloError: The function was lowered with other arguments.

    Returns:
        The arrays; None if an argument is only a ``jax.ShapeDtypeStruct``, or if they take more
        than 4 GiB together.
    """
    import jax

    leaves = [*lowered._lowering.const_args, *jax.tree.leaves((args, kwargs))]
    kept = lowered._lowering.compile_args["kept_var_idx"]
    avals = lowered._lowering.compile_args["global_in_avals"]
    chosen = [leaf for number, leaf in enumerate(leaves) if number in kept]
    if any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in chosen):
        return None
    arrays = [_array(leaf, aval) for leaf, aval in zip(chosen, avals, strict=True)]
    return arrays if sum(array.nbytes for array in arrays) <= _MOST_BYTES else None


def _array(leaf: Any, aval: Any) -> Array:
    import jax
    from jax import dtypes

    if np.shape(leaf) != aval.shape:
        raise HloError(
            f"expected an argument of shape {aval.shape}, which the function was lowered for, got "
            f"one of {np.shape(leaf)}"
        )
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, np.bool_)  # what jax lowers it to
    if dtypes.issubdtype(aval.dtype, dtypes.extended):  # pyright: ignore[reportPrivateImportUsage]
        return np.asarray(jax.random.key_data(leaf))
    # Python scalars become arrays of the type that they were lowered with.
    return np.asarray(leaf).astype(aval.dtype)
