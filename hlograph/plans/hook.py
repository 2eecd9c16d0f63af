"""jaxlib's hook between XLA's optimizations and its scheduler, for single modules of a process.

The hook is a property of the process and sees every compilation in it. It changes only modules
whose name somebody waits for, and no exception leaves it: XLA would fail the compilation that
happens to run, which may be that of another function.

jaxlib keeps its hooks in a list that compilations read while others change it: to remove a hook
during a compilation ends the process. So the hook is registered at the first use and stays. Each
compilation after that pays for the serialization of its module, some microseconds for each
kilobyte.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hlograph.errors import PlanError
from hlograph.plans.jaxlib_modules import name_of

Edit = Callable[[bytes], bytes | None]
"""Function from a serialized ``HloModuleProto`` to its replacement; None keeps the module."""

_NAME = "hlograph-plan"


class CaptureError(Exception):
    """Raised by an edit to stop the compilation of its own module, and of no other one."""


class Waiting:
    """State of the hook for one module.

    Attributes:
        seen: True once the module was there. It does not come if JAX's compilation cache has it.
        error: Exception of the edit, which the compilation did not see.
    """

    def __init__(self, edit: Edit) -> None:
        self.seen = False
        self.error: Exception | None = None
        self._edit = edit

    def edit(self, proto: bytes) -> bytes | None:
        """Returns the edited module; None if the edit failed."""
        self.seen = True
        try:
            return self._edit(proto)
        except CaptureError:
            raise
        except Exception as error:  # see the module's docstring
            self.error = error
            return None


class _Registry:
    """The modules that are waited for, by their names."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[str, Waiting] = {}
        self._is_registered = False

    def __call__(self, proto: bytes) -> bytes | None:
        """Edits a module if somebody waits for it; called by XLA for every compilation."""
        if not self._waiting:
            return None
        waiting = self._waiting.get(name_of(proto))
        return waiting.edit(proto) if waiting is not None else None

    def enter(self, module: str, waiting: Waiting) -> None:
        """Waits until no other thread compiles a module of that name, and takes its place."""
        with self._changed:
            self._register()
            while module in self._waiting:
                self._changed.wait()
            self._waiting[module] = waiting

    def leave(self, module: str) -> None:
        """Frees the place of a module."""
        with self._changed:
            del self._waiting[module]
            self._changed.notify_all()

    def _register(self) -> None:
        if self._is_registered:
            return
        try:
            from jax.extend.xla import register_hlo_module_transformation
        except ImportError as error:
            raise PlanError("placements need jax 0.10.2 or newer") from error
        register_hlo_module_transformation(self, name=_NAME, platforms="cpu")
        self._is_registered = True


_REGISTRY = _Registry()


@contextmanager
def editing(module: str, edit: Edit) -> Iterator[Waiting]:
    """Edits one module between XLA's optimizations and its scheduler.

    Compile the module within the block. Other threads may compile meanwhile; one that wants to edit
    a module of the same name waits.

    Args:
        module: Name of the module.
        edit: Function that edits it.

    Raises:
        PlanError: jax has no such hook, or the edit raised an exception.
    """
    waiting = Waiting(edit)
    _REGISTRY.enter(module, waiting)
    try:
        yield waiting
    finally:
        _REGISTRY.leave(module)
    if waiting.error is not None:
        if isinstance(waiting.error, PlanError):
            raise waiting.error
        raise PlanError(f"the placements failed: {waiting.error!r}") from waiting.error
