"""The executables of a function of ``jax.jit``, which plans replace.

jax has no public way to replace an executable. It keeps one with each lowering, and a cache in C++
that finds it by the arguments of a call. Here are all the attributes of jax 0.10 to 0.12 that this
needs; tests/hlograph/optimization hold them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from hlograph.errors import HloError
from hlograph.optimization.of_function import jitted
from hlograph.plans import Plan, compile_lowered


def jitted_apart(function: Any, options: dict[str, Any]) -> Any:
    """Returns the function of ``jax.jit`` whose executables are replaced.

    jax keeps one executable for a function, however often it is jitted. So a plain function is
    wrapped, and ``jax.jit`` of it stays as it is.

    Args:
        function: A function, or one of ``jax.jit``, which is returned as it is.
        options: Options of ``jax.jit``.

    Raises:
        HloError: It is no function, or one of ``jax.jit`` with further options.
    """
    import jax

    if not callable(function) or not hasattr(function, "lower"):
        return jax.jit(_wrapped(function), **options) if callable(function) else jitted(function)
    if options:
        raise HloError(
            f"expected a function without jax.jit, as options of jax.jit are given "
            f"({', '.join(options)}): give them to one of the two"
        )
    return function


def _wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
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
        self.measure: Callable[[], int] = jit._cache_size
        self._clear, self.size = jit._clear_cache, 0

    def clear(self) -> None:
        """Makes the next call of each signature ask its lowering for the executable."""
        self.size = -1
        self._clear()


class ProgramExecutables:
    """The executables of one program in jax's caches: the default ones, or those of a plan.

    A program may be lowered several times: for arguments by position and by name, or after
    ``jax.clear_caches()``.

    Args:
        cache: The cache of the function.
        lowered: The ``jax.stages.Lowered`` of a signature.
    """

    def __init__(self, cache: ExecutableCache, lowered: Any) -> None:
        self._cache, self._lowered = cache, [lowered]
        self._defaults: list[Any] = [lowered._lowering._executable]
        self._plan = Plan()

    def add(self, lowered: Any) -> None:
        """Adds another lowering of the program, which runs by the plan in use from now on."""
        if any(lowered._lowering is other._lowering for other in self._lowered):
            return
        self._lowered.append(lowered)
        self._defaults.append(lowered._lowering._executable)
        self._replace(len(self._lowered) - 1)

    def use(self, plan: Plan) -> None:
        """Makes calls run by a plan from now on. Calls in progress end as they began.

        Raises:
            PlanError: The plan cannot be carried out.
        """
        if plan.is_empty and self._plan.is_empty:
            return
        self._plan = plan
        for number in range(len(self._lowered)):
            self._replace(number)

    def _replace(self, number: int) -> None:
        lowered, plan = self._lowered[number], self._plan
        executable = self._defaults[number]
        if not plan.is_empty:
            executable = compile_lowered(lowered, plan)._executable
        lowered._lowering._executable = executable
        self._cache.clear()
