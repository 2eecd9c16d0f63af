"""A pool whose workers are on the machines of a Ray cluster.

Ray decides where workers are, starts them again when a machine is lost, and carries tasks and
results. Each worker is an actor that keeps one worker process of ``hlograph.isolation`` beside
it, so a pass that crashes or hangs is found, and blamed, as it is on one machine.
"""

import hashlib
import pickle
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, Self

from ray import ObjectRef
from ray.exceptions import ActorUnavailableError, RayError, RayTaskError

from experiments.workers.ray.cluster import cluster, ray
from experiments.workers.ray.station import Station
from hlograph import corpus
from hlograph.errors import HloError, WorkerKilledError, WorkerLostError
from hlograph.isolation import WorkerLimits
from hlograph.isolation.worker_process import MakeWorker

_CLOSING = 5.0  # seconds that idle actors have to end by themselves
_MOMENT = 1.0  # seconds after which an actor that is being restarted is asked again


class RayPool:
    """Workers on a Ray cluster that do tasks; a lost one costs its task, and Ray replaces it.

    An actor whose machine is lost is started on another one as soon as there is a free CPU;
    until then the others do the work. Tasks go through Ray as bytes, and arrays in them through
    its object store: those that many tasks share, such as a policy's parameters, once.

    Args:
        make_worker: As for ``hlograph.isolation.WorkerPool``.
        workers: Number of actors, each on one CPU; None is one for each CPU of the cluster.
        limits: When a worker process is given up.
        preloaded: Modules that worker processes begin with.
        address: As for ``cluster.cluster``.
        patience: Seconds to wait while there is not a single worker.

    Raises:
        HloError: There is no such cluster.
    """

    def __init__(
        self,
        make_worker: MakeWorker,
        workers: int | None = None,
        limits: WorkerLimits | None = None,
        preloaded: Sequence[str] = ("hlograph.module",),
        address: str | None = None,
        patience: float = 600.0,
    ) -> None:
        self._patience = patience
        self._idle: list[Any] = []
        self._starting: dict[ObjectRef, Any] = {}
        self._working: dict[ObjectRef, tuple[int, Any]] = {}
        self._away: deque[tuple[float, Any]] = deque()  # with the time to ask again
        self._last_worked = 0.0
        self._shared: tuple[bytes, ObjectRef] | None = None
        self._exit = ExitStack()
        with ExitStack() as stack:
            count = stack.enter_context(cluster(address, workers))
            actor = ray.remote(num_cpus=1, max_restarts=-1)(Station)
            packed, where = pickle.dumps(make_worker), str(corpus.root())
            for _ in range(count):
                self._ask(actor.remote(packed, limits, tuple(preloaded), where))
            self._exit = stack.pop_all()

    def map(self, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Does tasks and yields (number, result) as they end; numbers count from 0.

        Tasks are taken from the iterable one at a time as workers become free. One ``map`` at a
        time.

        Yields:
            Number and result; of a lost task the result is the ``WorkerLostError``.

        Raises:
            Exception: What a task raised, with the worker's traceback as a note.
            HloError: No worker has come up for so long that none will.
        """
        numbered = iter(enumerate(tasks))
        more = True
        self._last_worked = time.monotonic()
        try:
            while True:
                while more and self._idle:
                    job = next(numbered, None)
                    if job is None:
                        more = False
                    else:
                        self._give(*job)
                if not more and not self._working:
                    return
                yield from self._next_results()
        finally:
            # Left early: what is still under way must not turn up in the next map.
            for _, actor in self._working.values():
                ray.kill(actor, no_restart=False)
                self._ask(actor)
            self._working.clear()

    def close(self) -> None:
        """Ends the workers, and leaves the cluster."""
        ending = [actor.__ray_terminate__.remote() for actor in self._idle]
        if ending:
            ray.wait(ending, num_returns=len(ending), timeout=_CLOSING)
        for actor in [*self._idle, *self._starting.values(), *(actor for _, actor in self._away)]:
            ray.kill(actor)
        for actors in (self._idle, self._starting, self._away):
            actors.clear()
        self._shared = None
        self._exit.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _ask(self, actor: Any) -> None:
        """Takes an actor into service as soon as it answers."""
        self._starting[actor.ready.remote()] = actor

    def _give(self, number: int, task: Any) -> None:
        """Gives a task to an idle worker."""
        buffers: list[pickle.PickleBuffer] = []
        packed = pickle.dumps(task, protocol=5, buffer_callback=buffers.append)
        actor = self._idle.pop()
        result = actor.do.remote(packed, self._stored(buffers))
        self._working[result] = (number, actor)

    def _stored(self, buffers: Sequence[pickle.PickleBuffer]) -> ObjectRef | None:
        """Puts arrays into the object store, unless they are those that were put last."""
        if not buffers:
            return None
        arrays = [buffer.raw().tobytes() for buffer in buffers]
        digest = hashlib.sha256()
        for array in arrays:
            digest.update(len(array).to_bytes(8, "little") + array)
        if self._shared is None or self._shared[0] != digest.digest():
            self._shared = (digest.digest(), ray.put(arrays))
        return self._shared[1]

    def _next_results(self) -> Iterator[tuple[int, Any]]:
        """Waits a moment for tasks that end, and for workers that come up."""
        now = time.monotonic()
        if self._working:
            self._last_worked = now
        elif now - self._last_worked > self._patience:
            raise HloError(
                f"the Ray cluster has had no worker for {self._patience:g} s. Each takes one CPU; "
                f"there are {ray.cluster_resources().get('CPU', 0):g} in all, and "
                f"{ray.available_resources().get('CPU', 0):g} free: add a node, or free CPUs"
            )
        while self._away and self._away[0][0] <= now:
            self._ask(self._away.popleft()[1])
        waited_for = [*self._working, *self._starting]
        if not waited_for:
            time.sleep(_MOMENT)
            return
        for ref in ray.wait(waited_for, timeout=_MOMENT)[0]:
            if ref in self._starting:
                self._begin(ref, self._starting.pop(ref))
            else:
                number, actor = self._working.pop(ref)
                yield number, self._result(ref, actor)

    def _begin(self, ref: ObjectRef, actor: Any) -> None:
        """Takes an actor into service; one that cannot be made is an error of the cluster."""
        try:
            ray.get(ref)
        except ActorUnavailableError:  # Ray looks for a place for it
            self._away.append((time.monotonic() + _MOMENT, actor))
        except RayError as error:
            raise HloError(
                "a worker does not start on the Ray cluster. All nodes need the same checkout, at "
                f"the same path, with its packages: {error}"
            ) from error
        else:
            self._idle.append(actor)

    def _result(self, ref: ObjectRef, actor: Any) -> Any:
        """Returns the result of a task. Its actor is free then, or being replaced."""
        try:
            answer = ray.get(ref)
        except RayTaskError:
            self._idle.append(actor)
            raise
        except RayError as error:
            # Others may be lost with it: a task is not to meet one after the other.
            for other in (actor, *self._idle):
                self._ask(other)
            self._idle.clear()
            return WorkerKilledError(f"the worker or its node was lost: {_first_line(error)}")
        self._idle.append(actor)
        if isinstance(answer, bytes):
            return pickle.loads(answer)
        if isinstance(answer, WorkerLostError):
            return answer
        raise answer


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
