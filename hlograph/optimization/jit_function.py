"""``hlograph.jit``: ``jax.jit`` whose compilations are replaced by faster ones, once confirmed.

A call is a call of ``jax.jit``, which finds the executable of its arguments in C++. When a search
in the background has confirmed a plan, the executable that jax keeps for the lowering becomes that
of the plan. So signatures, static arguments, donation and pytrees are jax's own, and a call costs
what one of ``jax.jit`` costs, and a microsecond or two more.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, get_args, overload

from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array
from hlograph.measuring.trial import MAX_MEMORY_RATIO, Job, Objective
from hlograph.optimization.cache import Store, StoreLike
from hlograph.optimization.function import OptimizedFunction
from hlograph.optimization.jit_executables import (
    ExecutableCache,
    ProgramExecutables,
    TraceGate,
    UnseenSignatureError,
    arguments_of,
    is_outside,
    jitted_apart,
)
from hlograph.optimization.jit_planning import FirstCall, JitSettings, SignaturePlanner
from hlograph.optimization.jit_report import JitReport, signature_text
from hlograph.optimization.of_function import inputs_of
from hlograph.optimization.search_settings import SearchSettings, method_names
from hlograph.plans import Numerics, Plan, Program

_SWITCH = "HLOGRAPH_JIT"
_UNKEPT = 3  # calls that jax kept no executable of


@overload
def jit(function: Callable[..., Any], /, **settings: Any) -> JitFunction: ...
@overload
def jit(function: None = None, /, **settings: Any) -> Callable[..., JitFunction]: ...
def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    budget: float = 60.0,
    numerics: Numerics = "close",
    store: StoreLike = None,
    methods: Iterable[str] | str | None = None,
    background: bool = True,
    objective: Objective = "time",
    max_memory_ratio: float = MAX_MEMORY_RATIO,
    process: bool = True,
    max_signatures: int = 8,
    first: FirstCall = "default",
    plans: Iterable[Plan] = (),
    **options: Any,
) -> JitFunction | Callable[..., JitFunction]:
    """Returns a function as ``jax.jit`` does, which searches for faster plans of its own calls.

    The first call runs at once, as ``jax.jit`` compiles it or by the plan of the store. A search
    goes on in a process beside the program; when its plan is confirmed, later calls run by it. Each
    signature (shapes, types and static arguments) has a plan of its own. Of a function of
    ``jax.jit``, a signature after the first is noticed at the end of its first call only.

    Decorate the outermost function. Inside ``jit``, ``grad``, ``vmap`` or another transformation
    of jax the function is that of ``jax.jit``, and ``JitFunction.report`` counts such calls. A
    function that cannot be measured (callbacks, ``jax.debug.print``, several devices, another
    platform than the CPU) also is, and a warning says so once.

    The environment variable ``HLOGRAPH_JIT=off`` turns all searches and plans off.
    ``HLOGRAPH_JIT_SECONDS`` limits the budgets of all searches of a process together (1800)::

        @hlograph.jit
        def step(params, batch): ...

        @hlograph.jit(static_argnames="mode", budget=10)
        def apply(x, mode): ...

    Args:
        function: The function, or one of ``jax.jit``, which is used as it is, so that its own
            calls run by the plans, too; None returns a decorator.
        budget: Seconds to search for, for each signature.
        numerics: See ``hlograph.optimize``.
        store: See ``hlograph.optimize``.
        methods: See ``hlograph.optimize``.
        background: False searches within the first call of a signature, which waits for the end.
        objective: See ``hlograph.optimize``.
        max_memory_ratio: See ``hlograph.optimize``.
        process: See ``hlograph.optimize``.
        max_signatures: Number of signatures that are searched for. Plans of the store are used for
            further ones, too.
        first: ``default`` compiles the first call as ``jax.jit`` does; ``checked`` has references
            judge jaxlib's default in a process of their own before, which takes seconds.
            A program that may meet a known fault of jaxlib is judged in any case, and runs by what
            is right.
        plans: Plans to use instead of a search, each for its own program.
        **options: Options of ``jax.jit``, such as ``static_argnums`` and ``donate_argnums``.

    Raises:
        HloError: ``function`` is no function, or one of ``jax.jit`` with further options.
    """
    if first not in get_args(FirstCall):
        raise HloError(f"expected first={' or '.join(get_args(FirstCall))}, got {first!r}")
    settings = SearchSettings(
        budget, method_names(methods), Store.of(store), progress=False, process=process
    )
    job = functools.partial(
        Job, numerics=numerics, objective=objective, max_memory_ratio=max_memory_ratio
    )
    more = JitSettings(settings, job, background, max_signatures, first, tuple(plans), options)
    if function is None:
        return functools.partial(JitFunction, settings=more)
    return JitFunction(function, more)


class JitFunction:
    """A function of ``jax.jit`` whose signatures run by plans; see ``hlograph.jit``.

    It has the attributes of a function of ``jax.jit``, such as ``lower``. A copy is the function
    itself, as for any function. A pickle of one that its module has under its name is that name;
    otherwise it has the function and the plans.

    Args:
        function: The function.
        settings: What ``hlograph.jit`` was called with.

    Raises:
        HloError: It is no function, or one of ``jax.jit`` with further options.
    """

    def __init__(self, function: Callable[..., Any], settings: JitSettings) -> None:
        self._function, self._settings = function, settings
        self._gate = TraceGate()
        self._jit: Any = jitted_apart(function, settings.options, self._gate)
        self._planner = SignaturePlanner(self._jit, settings)
        self._is_off = os.environ.get(_SWITCH, "").lower() in ("off", "0", "false")
        self._cache, self._traced, self._unkept = ExecutableCache(self._jit), 0, 0
        self._signatures: dict[str, _Signature] = {}
        self._refused: dict[str, str] = {}
        self._entering: dict[str, threading.RLock] = {}
        self._unmeasured: weakref.WeakSet[Any] = weakref.WeakSet()  # lowerings
        self._lock = threading.RLock()  # never held while jax or XLA works
        self._is_clean = is_outside()
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function, as ``jax.jit`` does."""
        if self._is_off:
            return self._jit(*args, **kwargs)
        if not self._is_clean():
            self._traced += 1
            return self._jit(*args, **kwargs)
        cache = self._cache
        before = cache.measure()
        is_new, result = not before, None
        if not is_new:
            self._gate.is_closed = True
            try:
                result = self._jit(*args, **kwargs)
            except UnseenSignatureError:
                is_new = True
            finally:
                self._gate.is_closed = False
        if is_new:  # a stored plan saves compiling what it replaces
            before += 1
            self._notice(args, kwargs, before=1)
            result = self._jit(*args, **kwargs)
        size = cache.measure()
        if size != cache.size or size != before:  # other threads may set the first
            if not size and cache.size > 0:  # ordered effects, or another thread cleared it
                self._unkept += 1
                self._is_off = self._unkept == _UNKEPT
                return result
            self._unkept = 0
            self._notice(args, kwargs)
        return result

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Returns the function, bound to an instance as a method is."""
        return self if instance is None else types.MethodType(self, instance)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans that are in use."""
        reports = (signature.function.report for signature in list(self._signatures.values()))
        return tuple(report.plan for report in reports if not report.plan.is_empty)

    @property
    def report(self) -> JitReport:
        """The report of each signature at this moment."""
        reports = {s.text: s.function.report for s in list(self._signatures.values())}
        return JitReport(self._name, reports, dict(self._refused), self._traced)

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until the searches of all signatures have ended, and their plans are used.

        Args:
            timeout: Seconds to wait at most for each; None waits for any time.

        Returns:
            True if no search goes on.
        """
        return all(s.function.wait(timeout) for s in list(self._signatures.values()))

    def close(self) -> None:
        """Ends all searches. The function stays as it is at this moment."""
        for signature in list(self._signatures.values()):
            signature.function.close()

    @property
    def _name(self) -> str:
        return self._jit.__name__

    def _notice(self, args: Any, kwargs: Any, *, before: int = 0) -> None:
        """Looks whether a call has a new signature, and whether its executable is the plan's.

        Args:
            args: Arguments of the call by position.
            kwargs: Arguments by name.
            before: Number of executables that jax will add to its cache: 1 before the call.
        """
        import jax

        if jax.config.jax_disable_jit:  # pyright: ignore[reportAttributeAccessIssue]
            return
        with self._lock:
            self._cache.size = self._cache.measure() + before
        try:
            lowered = self._jit.lower(*args, **kwargs)
        except Exception:  # what jax raises for these arguments, it raises in the call
            return
        text = signature_text(lowered, arguments_of(self._jit, args, kwargs, static=True))
        if lowered._lowering in self._unmeasured:
            return
        try:
            self._enter(lowered, text, args, kwargs)
        except Exception as error:  # whatever it is, the call must not fail by it
            self._unmeasured.add(lowered._lowering)
            reason = str(error) if isinstance(error, HloError) else repr(error)
            self._refuse(text, reason)

    def _refuse(self, text: str, reason: str) -> None:
        """Notes that a signature runs as ``jax.jit`` compiles it; a warning says so once."""
        with self._lock:
            is_first, self._refused[text] = not self._refused, reason
        if is_first:
            with contextlib.suppress(UserWarning):  # raised where warnings are errors
                warnings.warn(
                    f"{self._name} runs as jax.jit compiles it: {reason}. (This is said once.)",
                    stacklevel=4,
                )

    def _enter(self, lowered: Any, text: str, args: Any, kwargs: Any) -> None:
        """Begins with a signature, or goes on with one that jax has lowered again.

        Raises:
            HloError: It cannot be measured.
        """
        program = Program.of(lowered)
        key = program.fingerprint or program.text_fingerprint
        with self._lock:
            entering = self._entering.setdefault(key, threading.RLock())
        with entering:  # another call of the signature waits for its plan; those of others do not
            signature = self._signatures.get(key)
            if signature is not None:
                signature.executables.add(lowered)
                return
            executables = ProgramExecutables(self._cache, lowered)
            inputs = functools.partial(self._inputs, lowered, args, kwargs)
            job = self._settings.job(program)
            function = self._planner.planned(job, inputs, executables.use)
            with self._lock:
                alike = sum(s.text.startswith(text) for s in self._signatures.values())
                text = f"{text} ({alike + 1})" if alike else text
                self._signatures[key] = _Signature(text, function, executables)

    def _inputs(self, lowered: Any, args: Any, kwargs: Any) -> list[Array] | None:
        """Returns the arrays of a call; None if it has donated them, or they are too large."""
        import jax

        dynamic = arguments_of(self._jit, args, kwargs, static=False)
        arrays = (leaf for leaf in jax.tree.leaves(dynamic) if isinstance(leaf, jax.Array))
        if any(array.is_deleted() for array in arrays):
            return None
        return inputs_of(lowered, *dynamic)

    def __copy__(self) -> JitFunction:
        """Returns the function itself, as for any function."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> JitFunction:
        """Returns the function itself, as for any function."""
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickles the name of a function of a module; the function and its plans otherwise."""
        name = getattr(self._function, "__qualname__", "")
        scope: Any = inspect.getmodule(self._function)
        with contextlib.suppress(AttributeError):
            for part in name.split("."):
                scope = getattr(scope, part)
            if scope is self:
                return name
        settings = self._settings
        plans = tuple({plan.digest: plan for plan in (*self.plans, *settings.plans)}.values())
        return JitFunction, (self._function, replace(settings, plans=plans))

    def __getattr__(self, name: str) -> Any:
        """Returns an attribute of the function of ``jax.jit``, such as ``lower``."""
        if name.startswith("_"):  # also while a pickle is read
            raise AttributeError(name)
        return getattr(self._jit, name)

    def __repr__(self) -> str:
        return f"<hlograph.jit of {self._name}>"


@dataclass(frozen=True)
class _Signature:
    """A signature: its text, the record of its plan and search, and its executables."""

    text: str
    function: OptimizedFunction
    executables: ProgramExecutables
