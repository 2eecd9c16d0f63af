"""``hlograph.use_plans``: stored plans for code whose calls of ``jax.jit`` cannot be edited."""

from __future__ import annotations

import math
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from hlograph.errors import HloError
from hlograph.measuring.trial import Job
from hlograph.optimization.cache import Store, StoreLike
from hlograph.optimization.first_use import refusal_here
from hlograph.optimization.optimizing import check_numerics, fitting
from hlograph.plans import NUMERICS, Numerics, Plan, Program, mlir_modules
from hlograph.plans.compiling import planned_compilation
from hlograph.plans.layouts import concerns_signature


@contextmanager
def use_plans(store: StoreLike = None, *, numerics: Numerics = "close") -> Iterator[PlansInUse]:
    """Compiles what ``jax.jit`` compiles within the block by the plans of a store.

    A program gets the plan that ``hlograph.optimize`` or ``hlograph.jit`` has stored for its
    fingerprint on this machine. All others are compiled as jaxlib does by default, and so is what
    was compiled before the block. Functions keep the executables that they got in the block. Only
    compilations of this thread are concerned::

        with hlograph.use_plans("plans") as used:
            library.train(model, batch)
        print(used)

    Args:
        store: Store of plans, or its folder; None is that of the user.
        numerics: Loosest class of results of plans that are used; see ``hlograph.optimize``.

    Yields:
        What was used, which prints as a line for each program.

    Raises:
        HloError: The store is no folder, or the numerics class is none.
    """
    check_numerics(numerics)
    plans = PlansInUse(Store.of(store).plans(), numerics)
    _install()
    token = _IN_USE.set(plans)
    try:
        yield plans
    finally:
        _IN_USE.reset(token)


class PlansInUse:
    """The plans that compilations are looked up in.

    Attributes:
        used: The plans that programs were compiled by, in order.

    Args:
        plans: The plans.
        numerics: Loosest class of results.
    """

    def __init__(self, plans: Iterator[Plan], numerics: Numerics) -> None:
        self._numerics: Numerics = numerics
        self._by_name: dict[str, list[Plan]] = defaultdict(list)
        for plan in plans:
            fits = NUMERICS.index(plan.numerics) <= NUMERICS.index(numerics)
            # jax gives the arrays of a compiled function the layouts of its lowering.
            slower = plan.measured is not None and plan.measured.ratio < 1  # it saves memory
            if slower or plan.is_empty or concerns_signature(plan.layouts):
                continue
            if fits:
                self._by_name[plan.program].append(plan)
        self.used: list[Plan] = []
        self._refusals: list[str] = []

    def plan_for(self, module: Any) -> tuple[Program, Plan] | None:
        """Returns a program and its fastest plan; None if there is no plan for it.

        Args:
            module: The ``ir.Module`` that jax compiles.
        """
        candidates = self._by_name.get(mlir_modules.name_of(module))
        if not candidates:  # most modules: only those with the name of a plan are read
            return None
        program = Program.of_mlir(module)
        # Whoever stored a plan has allowed the memory that it needs.
        job = Job(program, None, self._numerics, max_memory_ratio=math.inf)
        plans = [plan for plan in candidates if fitting(job, plan)]
        plans.sort(key=lambda plan: -plan.measured.ratio if plan.measured else -1)
        for plan in plans:
            if not (refusal := refusal_here(job, plan)):
                return program, plan
            self._refusals.append(f"{plan.program}: not used: {refusal}")
        return None

    def __str__(self) -> str:
        """Returns a line for each plan that was used, or fails on this host."""
        lines = [f"{plan.program}: {plan.measured or 'not measured'}" for plan in self.used]
        lines += self._refusals
        return "\n".join(lines) or "no plan was used"


_IN_USE: ContextVar[PlansInUse | None] = ContextVar("hlograph_plans", default=None)
_INSTALLING = threading.Lock()


def _install() -> None:
    """Lets compilations of jax ask for plans; once, as it costs nothing outside of a block."""
    from jax._src import compiler  # held by tests/hlograph/optimization

    with _INSTALLING:
        if not hasattr(compiler.compile_or_get_cached, "by_plans"):
            compiler.compile_or_get_cached = _asking(compiler.compile_or_get_cached)


def _asking(compile_module: Callable[..., Any]) -> Callable[..., Any]:
    """Returns jax's function that compiles a module, which takes the module's plan if it has one.

    Args:
        compile_module: ``compile_or_get_cached`` of jax.
    """

    def compile_by_plans(
        backend: Any, module: Any, devices: Any, options: Any, callbacks: Any, *more: Any, **kw: Any
    ) -> Any:
        plans = _IN_USE.get()
        # A function may need what it has of its own.
        has_own = callbacks or options.env_option_overrides
        if plans is None or devices.size != 1 or has_own or backend.platform != "cpu":
            return compile_module(backend, module, devices, options, callbacks, *more, **kw)
        token = _IN_USE.set(None)  # for what is compiled on the way
        try:
            chosen = plans.plan_for(module)
            if chosen is not None:
                planned = planned_compilation(*chosen, backend, options)
                executable = compile_module(
                    planned.client, planned.module, devices, planned.options, callbacks, *more, **kw
                )
                plans.used.append(chosen[1])
                return executable
        except (HloError, RuntimeError) as error:  # RuntimeError: jax.errors.JaxRuntimeError
            name = mlir_modules.name_of(module)
            warnings.warn(f"{name} is compiled without its plan: {error}", stacklevel=2)
        finally:
            _IN_USE.reset(token)
        return compile_module(backend, module, devices, options, callbacks, *more, **kw)

    compile_by_plans.by_plans = True  # pyright: ignore[reportFunctionMemberAccess]
    return compile_by_plans
