"""One worker process that answers questions, one at a time."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hlograph.isolation.limits import Limits
from hlograph.isolation.pool import WorkerPool

if TYPE_CHECKING:
    from hlograph.isolation.worker_process import MakeWorker


class OneWorker:
    """A worker process that ends with this object. One that is lost is replaced.

    Args:
        make_worker: Makes the function that answers, in the process; can be pickled.
        limits: Limits of the process.
        preloaded: Modules that it begins with.
    """

    def __init__(
        self,
        make_worker: MakeWorker,
        limits: Limits,
        preloaded: Sequence[str] = ("hlograph.module",),
    ) -> None:
        self._pool = WorkerPool(make_worker, 1, limits, preloaded, with_main=False)
        weakref.finalize(self, self._pool.close)

    def ask(self, question: Any) -> Any:
        """Returns the answer; a ``WorkerLostError`` if the process was lost."""
        ((_, answer),) = self._pool.map([question])
        return answer

    def close(self) -> None:
        """Ends the process; a question that another thread waits for is lost."""
        self._pool.close()
