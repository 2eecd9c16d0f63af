"""The function that ``hlograph.optimize`` returns."""

from __future__ import annotations

import functools
import threading
import warnings
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hlograph.errors import HloError
from hlograph.execution.process_memory import keep_freed_memory
from hlograph.optimization.report import Report
from hlograph.plans import Plan
from hlograph.plans.weak_types import is_weak

# Calls with the right arguments, after one with others, that are still looked at.
_LOOKED_AT = 100

CompilePlan = Callable[[Plan], Callable[..., Any] | None]
"""Function that compiles a function by a plan; None is that of ``jax.jit``."""


class OptimizedFunction:
    """A function compiled as a plan says, for the shapes that it was optimized for.

    A call with other shapes or types, and a call inside ``jit``, ``grad``, ``vmap`` or another
    transformation of jax, runs the function as ``jax.jit`` compiles it, and a warning says so once.
    A Python number in place of an array is another type, because it leads to other result types.

    While a search goes on in the background, ``plan`` and ``report`` are those of the moment.

    Attributes:
        report: What was measured.
        error: The reason why a search in the background failed; None if none did.

    Args:
        function: The jitted function; None for a function that was given as a lowering.
        compiled: The ``jax.stages.Compiled`` for the optimized shapes; None to call the function.
        report: What was measured.
        process: True lets the process keep freed memory from now on, if the plan says that it pays.
    """

    def __init__(
        self,
        function: Callable[..., Any] | None,
        compiled: Callable[..., Any] | None,
        report: Report,
        process: bool = True,
    ) -> None:
        self._function, self._compiled, self._process = function, compiled, process
        self.report = report
        self._set_process(report)
        self.error: HloError | None = None
        self._wait: Callable[[float | None], bool] | None = None
        self._close: Callable[[], None] | None = None
        self._warned = False
        self._others: OtherArguments | None = None
        self._expected: OtherArguments | None = None
        self._lock = threading.Lock()
        if function is not None:
            functools.update_wrapper(self, function, updated=())

    @property
    def plan(self) -> Plan:
        """The plan that the function runs with; empty if it runs as jaxlib does by default."""
        return self.report.plan

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function.

        Raises:
            HloError: The arguments have other shapes or types, and the function was given as a
                lowering.
        """
        compiled = self._compiled  # once: a search in the background may replace it
        if compiled is None:
            assert self._function is not None
            return self._function(*args, **kwargs)
        others = self._expected  # None unless a call with others came shortly before
        if others is not None and self._has_others(others, args, kwargs):
            assert self._function is not None
            return self._function(*args, **kwargs)
        try:
            return compiled(*args, **kwargs)
        except (TypeError, ValueError) as error:
            # jax raises them for other shapes, types, pytrees and tracers, before anything runs.
            if _any_deleted((args, kwargs)):
                raise
            return self._otherwise(compiled, error, args, kwargs)

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until a search in the background has ended, and its plan is used.

        Args:
            timeout: Seconds to wait at most; None waits for any time.

        Returns:
            True if no search goes on.
        """
        return self._wait is None or self._wait(timeout)

    def close(self) -> None:
        """Ends a search in the background. The function stays as it is at this moment."""
        if self._close is not None:
            self._close()

    def follow(self, wait: Callable[[float | None], bool], close: Callable[[], None]) -> None:
        """Remembers how to wait for a search in the background, and how to end it.

        Args:
            wait: Waits for its end, at most some seconds; returns True if it has ended.
            close: Ends it; also called when this function is no longer used.
        """
        self._wait, self._close = wait, close
        weakref.finalize(self, close).atexit = False  # see hlograph.optimization.background

    def become(self, report: Report, compile_plan: CompilePlan) -> None:
        """Runs by the plan of a report from now on. Calls in progress end as they began.

        Args:
            report: The report.
            compile_plan: Compiles the function by a plan; see the argument ``compiled``.

        Raises:
            PlanError: The plan cannot be carried out.
        """
        same = report.plan.digest == self.plan.digest
        compiled = self._compiled if same else compile_plan(report.plan)
        with self._lock:
            self._compiled, self.report = compiled, report
        self._set_process(report)

    def _set_process(self, report: Report) -> None:
        if self._process and report.plan.kept_memory is not None:
            keep_freed_memory()

    def fail(self, error: HloError) -> None:
        """Notes that a search in the background has failed, which is said once."""
        words = f"the search in the background failed: {error}"
        before = repr(self)
        with self._lock:
            self.error = error
            self.report = replace(self.report, conclusion=f"{self.report.conclusion}; {words}")
        warnings.warn(f"{words}. It stays as it is: {before}", stacklevel=2)

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Lowers the original function, as ``jax.jit(f).lower`` does."""
        if self._function is None:
            raise HloError("expected a function, and this one was given as a lowering")
        return self._function.lower(*args, **kwargs)  # pyright: ignore[reportFunctionMemberAccess]

    def _has_others(self, others: OtherArguments, args: Any, kwargs: Any) -> bool:
        found = others.has(args, kwargs)
        if not others.expected:
            self._expected = None
        return found

    def _otherwise(
        self, compiled: Callable[..., Any], error: Exception, args: Any, kwargs: Any
    ) -> Any:
        if self._function is None:
            raise HloError(
                f"this function was given as a lowering for other arguments: {error}"
            ) from error
        with self._lock:
            warned, self._warned = self._warned, True
            if self._others is None:
                self._others = OtherArguments(compiled)
            self._others.note(args, kwargs)
            self._expected = self._others if self._others.expected else None
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


def _any_deleted(arguments: Any) -> bool:
    """Returns True if a buffer among the arguments was deleted, as by a donation."""
    import jax
    from jax.core import Tracer

    arrays = (leaf for leaf in jax.tree.leaves(arguments) if isinstance(leaf, jax.Array))
    return any(not isinstance(array, Tracer) and array.is_deleted() for array in arrays)


class OtherArguments:
    """Tells which calls a compiled function would refuse, before it is called with them.

    jax finds them, too, and raises an exception that costs many times the call. To compare all
    arguments before each call would make calls with the right ones slower. So they are compared
    only for some calls after one that failed, and then at one place: that at which it failed.

    Args:
        compiled: A ``jax.stages.Compiled``.
    """

    def __init__(self, compiled: Any) -> None:
        import jax
        from jax.core import Tracer

        # Bound once, as to import them again takes as long as the rest of a look.
        self._flatten, self._array, self._tracer = jax.tree_util.tree_flatten, jax.Array, Tracer
        self._tree = compiled.in_tree
        self._avals = jax.tree.leaves(compiled.in_avals)
        self._place: int | None = None
        self._left = 0

    @property
    def expected(self) -> bool:
        """True while calls are looked at."""
        return self._left > 0

    def note(self, args: Any, kwargs: Any) -> None:
        """Notes the arguments of a call that was refused."""
        leaves, tree = self._flatten((args, kwargs))
        self._place = None
        if tree == self._tree:
            places = (n for n, leaf in enumerate(leaves) if self._is_other(leaf, n))
            self._place = next(places, None)
            if self._place is None:  # a sharding, or a type that numpy and jax write differently
                self._left = 0
                return
        self._left = _LOOKED_AT

    def has(self, args: Any, kwargs: Any) -> bool:
        """Returns True if a call would be refused; False if it has to be tried."""
        leaves, tree = self._flatten((args, kwargs))
        place = self._place
        if tree != self._tree or (place is not None and self._is_other(leaves[place], place)):
            self._left = _LOOKED_AT
            return True
        self._left -= 1
        return False

    def _is_other(self, leaf: Any, number: int) -> bool:
        """Returns True if jax refuses an argument for its shape, type or weak type.

        Types are compared for arrays of jax alone: it takes some of numpy for others.
        """
        aval = self._avals[number]
        if getattr(leaf, "shape", ()) != aval.shape or is_weak(leaf) != aval.weak_type:
            return True
        if isinstance(leaf, self._array) and leaf.dtype != aval.dtype:
            return True
        return isinstance(leaf, self._tracer)
