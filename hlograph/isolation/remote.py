"""Objects that live in a worker process."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from hlograph.errors import WorkerLostError
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.limits import WorkerLimits
from hlograph.isolation.pool import WorkerPool
from hlograph.isolation.setting import ProcessSetting

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")


class Remote(Generic[T]):
    """An object in a worker process, whose methods are called from this process.

    The object is made at the first call. A process that is lost is replaced, with a new object, at
    the next call. The process ends with this one.

    Args:
        make: Makes the object in the process, with the recorder in which it notes each operation
            that may end the process; can be pickled, as a ``functools.partial`` of a class.
        limits: Limits of the process.
        preloaded: Modules that it begins with.
        setting: See ``WorkerPool``.
    """

    def __init__(
        self,
        make: Callable[[FlightRecorder], T],
        limits: WorkerLimits,
        preloaded: Sequence[str] = ("hlograph.module",),
        setting: ProcessSetting | None = None,
    ) -> None:
        make_worker = partial(_called, make)
        self._pool = WorkerPool(make_worker, 1, limits, preloaded, with_main=False, setting=setting)
        weakref.finalize(self, self._pool.close)

    def call(
        self, method: Callable[Concatenate[T, P], R], /, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Calls a method of the object, one call at a time.

        Args:
            method: The method of the class, such as ``Space.plan``.
            *args: Its arguments, which can be pickled, as its result can.
            **kwargs: Its keyword arguments.

        Raises:
            WorkerLostError: The process was lost.
            Exception: The exception of the method, with its traceback as a note.
        """
        ((_, answer),) = self._pool.map([(method.__name__, args, kwargs)])
        if isinstance(answer, WorkerLostError):
            raise answer
        return answer

    def close(self) -> None:
        """Ends the process; a call that another thread waits for is lost."""
        self._pool.close()


def _called(make: Callable[[FlightRecorder], Any], recorder: FlightRecorder) -> Callable[..., Any]:
    """Returns the function that performs calls of an object's methods, in the process."""
    target = make(recorder)

    def call(task: tuple[str, tuple[Any, ...], dict[str, Any]]) -> Any:
        name, args, kwargs = task
        return getattr(target, name)(*args, **kwargs)

    return call
