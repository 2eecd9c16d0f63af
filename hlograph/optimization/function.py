"""The function that ``hlograph.optimize`` returns."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from typing import Any

from hlograph.errors import HloError
from hlograph.optimization.report import Report
from hlograph.plans import Plan


class OptimizedFunction:
    """A function compiled as a plan says, for the shapes that it was optimized for.

    A call with other shapes or types, and a call inside ``jit``, ``grad``, ``vmap`` or another
    transformation of jax, runs the function as ``jax.jit`` compiles it, and a warning says so once.
    A Python number in place of an array is another type, because it leads to other result types.

    Attributes:
        plan: The plan; empty if the function runs as jaxlib compiles it by default.
        report: What was measured.

    Args:
        function: The jitted function; None for a function that was given as a lowering.
        compiled: The ``jax.stages.Compiled`` for the optimized shapes; None to call the function.
        report: What was measured.
    """

    def __init__(
        self,
        function: Callable[..., Any] | None,
        compiled: Callable[..., Any] | None,
        report: Report,
    ) -> None:
        self._function, self._compiled = function, compiled
        self.report = report
        self._warned = False
        self._lock = threading.Lock()
        if function is not None:
            functools.update_wrapper(self, function, updated=())

    @property
    def plan(self) -> Plan:
        """The plan that the function runs with."""
        return self.report.plan

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function.

        Raises:
            HloError: The arguments have other shapes or types, and the function was given as a
                lowering.
        """
        if self._compiled is None:
            assert self._function is not None
            return self._function(*args, **kwargs)
        try:
            return self._compiled(*args, **kwargs)
        except (TypeError, ValueError) as error:
            # jax raises them for other shapes, types, pytrees and tracers, before anything runs.
            return self._otherwise(error, args, kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Lowers the original function, as ``jax.jit(f).lower`` does."""
        if self._function is None:
            raise HloError("expected a function, and this one was given as a lowering")
        return self._function.lower(*args, **kwargs)  # pyright: ignore[reportFunctionMemberAccess]

    def _otherwise(self, error: Exception, args: Any, kwargs: Any) -> Any:
        if self._function is None:
            raise HloError(
                f"this function was given as a lowering for other arguments: {error}"
            ) from error
        with self._lock:
            warned, self._warned = self._warned, True
        if not warned:
            warnings.warn(
                "called with other shapes or types than it was optimized for, or inside a "
                "transformation of jax: such calls run as jax.jit compiles them. Call "
                "hlograph.optimize for these arguments, too. (This is said once.)",
                stacklevel=3,
            )
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        name = getattr(self, "__name__", "function")
        return f"<hlograph.OptimizedFunction {name}: {self.report.conclusion}>"
