"""One worker on each node of a Ray cluster, which reports while it works.

A worker has all CPUs of its node, so whatever else Ray runs there waits. Ray carries reports as
soon as there are some: what a node has reported is here, even if the node is lost a moment later.
"""

import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Self

from ray import ObjectRef
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from experiments.workers.ray.cluster import cluster, ray
from experiments.workers.ray.station import settle
from hlograph import corpus
from hlograph.errors import HloError, WorkerKilledError
from hlograph.storage.machine import Machine, machine

Work = Callable[[Any], Iterator[Any]]
"""Function of a module that does a task, and yields reports."""

_MOMENT = 1.0  # seconds to wait for a report, and between looks for new nodes


class NodeWorker:
    """The actor on a node.

    Args:
        work: The pickled function that does a task.
        where: The corpus's folder or URL.
    """

    def __init__(self, work: bytes, where: str) -> None:
        settle(where)
        self._work: Work = pickle.loads(work)

    def machine(self) -> Machine:
        """Returns the kind of machine that the node is."""
        return machine()

    def do(self, task: Any) -> Iterator[Any]:
        """Does a task, and yields its reports, or in the end what it raised."""
        try:
            # Not `yield from`, with which Ray would send to the iterators within.
            for report in self._work(task):  # noqa: UP028
                yield report
        except Exception as error:  # all that a task raises goes to whoever gave it
            yield error


@dataclass(frozen=True, eq=False)
class ClusterNode:
    """A node of the cluster whose worker is ready."""

    id: str
    """Ray's identifier, of which no other node ever has the same."""
    name: str
    """Name that ``ray start --node-name`` gave it; by default its address."""
    machine: Machine
    """Kind of machine that it is."""
    worker: Any
    """Its actor."""


class NodePool:
    """Workers on all nodes of a cluster that have CPUs, also on nodes that join later.

    Args:
        work: Function that does a task; each node imports it from its module.
        address: As for ``cluster.cluster``.
        patience: Seconds to wait while no node is at work.

    Raises:
        HloError: There is no such cluster.
    """

    def __init__(self, work: Work, address: str | None = None, patience: float = 600.0) -> None:
        self._actor: Any = ray.remote(NodeWorker)
        self._arguments = pickle.dumps(work), str(corpus.root())
        self._patience = patience
        self._starting: dict[ObjectRef, tuple[dict[str, Any], Any]] = {}
        self._nodes: dict[str, ClusterNode] = {}
        self._working: dict[Iterator[ObjectRef], ClusterNode] = {}
        self._failed: dict[str, str] = {}
        self._look_again = 0.0
        self._exit = ExitStack()
        self._exit.enter_context(cluster(address, None))
        self._last_worked = time.monotonic()

    @property
    def nodes(self) -> list[ClusterNode]:
        """The nodes whose workers are ready."""
        return list(self._nodes.values())

    @property
    def idle(self) -> list[ClusterNode]:
        """The nodes that have no task."""
        busy = set(self._working.values())
        return [node for node in self.nodes if node not in busy]

    def give(self, node: ClusterNode, task: Any) -> None:
        """Gives a task to an idle node."""
        self._working[node.worker.do.remote(task)] = node

    def reports(self) -> Iterator[tuple[ClusterNode, Any]]:
        """Waits a moment for reports, and for nodes that come up.

        Yields:
            Node and report. If the node or its worker was lost, the report is a
            ``WorkerKilledError``, and the node gets no more tasks.

        Raises:
            Exception: What a task raised.
            HloError: No node has been at work for so long that none will.
        """
        self._look_for_nodes()
        self._check_patience()
        waited_for = [*self._working, *self._starting]
        if not waited_for:
            time.sleep(_MOMENT)
            return
        if ray.wait(waited_for, timeout=_MOMENT)[0]:
            for ready in ray.wait(waited_for, num_returns=len(waited_for), timeout=0)[0]:
                if isinstance(ready, ObjectRef):
                    self._begin(ready)
                else:
                    yield from self._next_report(ready)

    def close(self) -> None:
        """Ends the workers, whatever they do, and leaves the cluster."""
        for worker in [*(node.worker for node in self.nodes), *self._workers_to_be()]:
            ray.kill(worker)
        self._exit.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _workers_to_be(self) -> list[Any]:
        return [worker for _, worker in self._starting.values()]

    def _look_for_nodes(self) -> None:
        """Starts a worker on each node that has none."""
        if time.monotonic() < self._look_again:
            return
        self._look_again = time.monotonic() + _MOMENT
        seen = {*self._nodes, *self._failed, *(at["NodeID"] for at, _ in self._starting.values())}
        for described in ray.nodes():
            cpus = described["Resources"].get("CPU", 0)
            if described["Alive"] and cpus and described["NodeID"] not in seen:
                here = NodeAffinitySchedulingStrategy(described["NodeID"], soft=False)
                options = {"num_cpus": cpus, "scheduling_strategy": here}
                worker = self._actor.options(**options).remote(*self._arguments)
                self._starting[worker.machine.remote()] = described, worker

    def _begin(self, ref: ObjectRef) -> None:
        """Takes a node into service, unless it was lost or has not what it needs."""
        described, worker = self._starting.pop(ref)
        try:
            kind = ray.get(ref)
        except RayError as error:
            self._failed[described["NodeID"]] = f"{described['NodeName']}: {error}"
        else:
            node = ClusterNode(described["NodeID"], described["NodeName"], kind, worker)
            self._nodes[node.id] = node

    def _next_report(self, reports: Iterator[ObjectRef]) -> Iterator[tuple[ClusterNode, Any]]:
        node = self._working[reports]
        try:
            report = ray.get(next(reports))
        except StopIteration:
            del self._working[reports]
        except RayTaskError:
            raise
        except RayError as error:
            del self._working[reports], self._nodes[node.id]
            first_line = str(error).strip().partition("\n")[0]
            yield node, WorkerKilledError(f"{node.name} was lost: {first_line}")
        else:
            if isinstance(report, Exception):
                raise report
            yield node, report

    def _check_patience(self) -> None:
        now = time.monotonic()
        if self._working:
            self._last_worked = now
        alone = bool(self._failed) and not (self._nodes or self._starting)
        if alone or now - self._last_worked > self._patience:
            raise HloError(self._why_nothing_is_done())

    def _why_nothing_is_done(self) -> str:
        idle = ", ".join(f"{node.name}: {node.machine}" for node in self.nodes)
        words = ["no node of the Ray cluster can do what is left"]
        if idle:
            words.append(f"it is not for the machines that are there ({idle})")
        if self._starting:
            number = len(self._starting)
            words.append(f"nodes that are not free: {number} (a worker takes all CPUs)")
        if self._failed:
            words.append(
                "workers do not start without the same checkout at the same path, with its "
                f"packages: {next(reversed(self._failed.values()))}"
            )
        return "; ".join([*words, "add a node, or free one"])
