"""The actor on a node of a Ray cluster, with a worker process of its own."""

import os
import pickle
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from hlograph.isolation import FlightRecorder, WorkerLimits, WorkerPool


class Station:
    """An actor: one worker process on some node of the cluster, and its replacements.

    Tasks and results pass through it unread, so it needs neither torch nor the engine.

    Args:
        make_worker: The pickled function that makes a worker, as for ``WorkerPool``.
        limits: When a worker process is given up.
        preloaded: Modules that worker processes begin with.
        where: The corpus's folder or URL.
    """

    def __init__(
        self,
        make_worker: bytes,
        limits: WorkerLimits | None,
        preloaded: Sequence[str],
        where: str,
    ) -> None:
        settle(where)
        self._pool = WorkerPool(partial(unpacking_worker, make_worker), 1, limits, preloaded)

    def ready(self) -> None:
        """Does nothing. The actor is ready once this call returns."""

    def do(self, task: bytes, arrays: Sequence[bytes] | None) -> bytes | Exception:
        """Returns the packed result, or what was raised or became of the worker process."""
        try:
            ((_, result),) = self._pool.map([(task, arrays)])
        except Exception as error:  # all that a task raises goes to whoever gave it
            return error
        return result


def settle(where: str) -> None:
    """Makes the process of an actor one that can have worker processes.

    Args:
        where: The corpus's folder or URL.
    """
    os.environ["HLOGRAPH_CORPUS"] = where
    # Else each worker process would begin with a run of Ray's own program.
    vars(sys.modules["__main__"]).pop("__file__", None)


def unpacking_worker(make_worker: bytes, recorder: FlightRecorder) -> Any:
    """Makes a worker in its process: of packed tasks, with packed results.

    Args:
        make_worker: The pickled function that makes the worker proper.
        recorder: The worker's recorder.
    """
    work = pickle.loads(make_worker)(recorder)

    def do(packed: tuple[bytes, Sequence[bytes] | None]) -> bytes:
        task, arrays = packed
        # Arrays of a task can be written to, as they can without Ray.
        buffers = [bytearray(array) for array in arrays or ()]
        return pickle.dumps(work(pickle.loads(task, buffers=buffers)), protocol=5)

    return do
