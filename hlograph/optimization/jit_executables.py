"""The executables of a function of ``jax.jit``, which plans replace.

jax has no public way to replace an executable. It keeps one with each lowering, and a cache in C++
that finds it by the arguments of a call. Here are all the attributes of jax 0.10 to 0.12 that this
needs; tests/hlograph/optimization hold them.
"""

from __future__ import annotations

import copy
import functools
import threading
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from hlograph.errors import HloError
from hlograph.optimization.of_function import jitted
from hlograph.plans import Plan, PlanRefusedError, compile_lowered
from hlograph.plans.layouts import concerns_signature


class UnseenSignatureError(HloError):
    """Raised by a call that jax would trace first, and that ``TraceGate`` has stopped before."""


class TraceGate(threading.local):
    """Stops calls of one function that jax has to trace, and so to compile, as a user asks it to.

    jax calls a Python function to trace it, before it compiles anything, and never again for that
    signature. So a call that is known already costs nothing more.

    Attributes:
        is_closed: True stops the calls of this thread.
    """

    is_closed = False

    def check(self) -> None:
        """Stops the trace if the gate is closed.

        Raises:
            UnseenSignatureError: It is.
        """
        if self.is_closed:
            raise UnseenSignatureError("this signature is new")


def jitted_apart(function: Any, options: dict[str, Any], gate: TraceGate) -> Any:
    """Returns the function of ``jax.jit`` whose executables are replaced.

    jax keeps one executable for a function, however often it is jitted. So a plain function is
    wrapped, and ``jax.jit`` of it stays as it is.

    Args:
        function: A function, or one of ``jax.jit``, which is returned as it is. Functions of
            ``hlograph.jit``, ``jax.pmap`` and other libraries are plain functions.
        options: Options of ``jax.jit``.
        gate: Stops traces of a plain function.

    Raises:
        HloError: It is no function, or one of ``jax.jit`` with further options.
    """
    import jax

    if not callable(function):
        return jitted(function)  # raises
    if not hasattr(function, "_cache_size"):
        return jax.jit(_wrapped(function, gate), **options)
    if options:
        raise HloError(
            f"expected a function without jax.jit, as options of jax.jit are given "
            f"({', '.join(options)}): give them to one of the two"
        )
    return function


def _wrapped(function: Callable[..., Any], gate: TraceGate) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        gate.check()
        return function(*args, **kwargs)

    named: Any = function
    while isinstance(named, functools.partial):
        named = named.func
    call.__name__ = getattr(named, "__name__", type(named).__name__)
    return call


def is_outside() -> Callable[[], bool]:
    """Returns the function that says that no transformation of jax traces its caller."""
    from jax._src.core import trace_state_clean

    return trace_state_clean


def arguments_of(
    jit: Any, args: Any, kwargs: Any, *, static: bool
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Returns those arguments of a call that are static, or the others.

    Args:
        jit: The function of ``jax.jit``, which knows the numbers and names of static arguments.
        args: Arguments by position.
        kwargs: Arguments by name.
        static: True returns the static ones.
    """
    info = jit._jit_info
    numbers = {n % len(args) for n in info.static_argnums if -len(args) <= n < len(args)}
    chosen = tuple(arg for n, arg in enumerate(args) if (n in numbers) == static)
    names = set(info.static_argnames)
    return chosen, {name: arg for name, arg in kwargs.items() if (name in names) == static}


class ExecutableCache:
    """jax's cache in C++ of the executables of one function.

    Attributes:
        size: Number of executables that were looked at; -1 after they were cleared.

    Args:
        jit: The function of ``jax.jit``.
    """

    def __init__(self, jit: Any) -> None:
        # Python's garbage collector does not see through jaxlib's bound methods.
        self.measure: Callable[[], int] = types.MethodType(type(jit)._cache_size, jit)
        self._clear = types.MethodType(type(jit)._clear_cache, jit)
        self.size = 0

    def clear(self) -> None:
        """Makes the next call of each signature ask its lowering for the executable."""
        self.size = -1
        self._clear()


class ProgramExecutables:
    """The executables of one program in jax's caches: the default ones, or those of a plan.

    A program may be lowered several times: for arguments by position and by name, or after
    ``jax.clear_caches()``. Neither the lowerings that jax has dropped nor the function are kept.

    Args:
        cache: The cache of the function.
        lowered: The ``jax.stages.Lowered`` of a signature.
    """

    def __init__(self, cache: ExecutableCache, lowered: Any) -> None:
        self._cache = weakref.ref(cache)
        # For each lowering the default executable, and what compiles another one.
        self._lowerings: weakref.WeakKeyDictionary[Any, tuple[Any, Any]]
        self._lowerings = weakref.WeakKeyDictionary()
        self._plan = Plan()
        self._remember(lowered)

    def add(self, lowered: Any) -> None:
        """Adds another lowering of the program, which runs by the plan in use from now on."""
        if lowered._lowering not in self._lowerings:
            self._remember(lowered)
            if not self._plan.is_empty:
                self._replace(lowered._lowering)

    def use(self, plan: Plan) -> None:
        """Makes calls run by a plan from now on. Calls in progress end as they began.

        Raises:
            PlanError: The plan cannot be carried out.
            PlanRefusedError: It has layouts of arguments or results.
        """
        if concerns_signature(plan.layouts):
            # Arguments come in the layouts that other functions gave them, and would be copied in
            # each call. Results would be further signatures where they are arguments.
            raise PlanRefusedError(
                "expected a plan without layouts of arguments or results, which calls of jax.jit "
                f"do not have, got {dict(plan.layouts)}: give it to hlograph.optimize(f, x, plan=)"
            )
        if plan.is_empty and self._plan.is_empty:
            return
        self._plan = plan
        for reference in self._lowerings.keyrefs():
            lowering = reference()
            if lowering is not None:
                self._replace(lowering)

    def _remember(self, lowered: Any) -> None:
        shell = copy.copy(lowered)
        shell._lowering = None
        self._lowerings[lowered._lowering] = lowered._lowering._executable, shell

    def _replace(self, lowering: Any) -> None:
        default, shell = self._lowerings[lowering]
        plan = None
        while plan is not self._plan:  # another thread may change it meanwhile
            plan, executable = self._plan, default
            if not plan.is_empty:
                lowered = copy.copy(shell)
                lowered._lowering = lowering
                executable = compile_lowered(lowered, plan)._executable
            lowering._executable = executable
        cache = self._cache()
        if cache is not None:
            cache.clear()
