"""The races of a run on the nodes of a Ray cluster; all that they find is kept by the driver."""

import sys
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from tqdm import tqdm

from experiments.tune.curves import Curve
from experiments.tune.races import TuningRace, check_methods, measured_again, raced
from experiments.tune.results import RaceResult
from experiments.workers.ray import needing_ray
from hlograph.errors import WorkerLostError
from hlograph.measuring.trial import PlanMeasurement
from hlograph.optimization.measurements import Measurements
from hlograph.storage.atomic_write import write_bytes_atomically
from hlograph.storage.machine import Machine

if TYPE_CHECKING:
    from experiments.workers.ray.nodes import NodePool

_TRIES = 5  # nodes that a race may lose

NodeReport = str | PlanMeasurement | RaceResult
"""Reports of a node: the key of a race's measurements when it begins, each new outcome as soon as
it is known, and in the end the result."""


@dataclass(frozen=True)
class NodeTask:
    """A race, or the second measurement of its winner."""

    race: TuningRace
    measurements: Mapping[str, bytes]
    """Files of what was measured in the race so far."""
    result: RaceResult | None = None
    """Result to measure again; None runs the race."""


def work(task: NodeTask) -> Iterator[NodeReport]:
    """Does a task on a node, in a temporary folder.

    Yields:
        The reports of a race; of a second measurement the result alone.
    """
    with tempfile.TemporaryDirectory(prefix="hlograph-race-") as folder:
        race = replace(task.race, run=Path(folder))
        for name, content in task.measurements.items():
            write_bytes_atomically(race.measurements / name, content)
        if task.result is None:
            yield from _race(race)
        else:
            yield measured_again(race, task.result)


def _race(race: TuningRace) -> Iterator[NodeReport]:
    reports: SimpleQueue[str | PlanMeasurement | None] = SimpleQueue()
    with ThreadPoolExecutor(1) as thread:
        result = thread.submit(raced, race, keep=partial(_Reported, reports.put))
        result.add_done_callback(lambda _: reports.put(None))
        while (report := reports.get()) is not None:
            yield report
    yield result.result()


class _Reported(Measurements):
    """Measurements that go to whoever gave the race, who keeps them.

    Args:
        report: Function that sends a report.
        key: Key of the job.
        folder: Folder of what was measured before.
    """

    def __init__(
        self, report: Callable[[str | PlanMeasurement], None], key: str, folder: Path
    ) -> None:
        super().__init__(key, folder)
        self._report = report
        report(key)

    def add(self, outcome: PlanMeasurement) -> None:
        """Sends an outcome."""
        self._report(outcome)


def run_on_cluster(
    races: Sequence[TuningRace], address: str | None, patience: float = 600.0
) -> None:
    """Runs the races that have no result on the nodes of a cluster, then measures winners again.

    Each node has one race at a time. The races of a program are on machines of one model, as long
    as there is one of it, and a winner is measured again on a machine of the model of its race.

    Args:
        races: The races.
        address: Cluster to join; None starts one of this machine alone.
        patience: Seconds to wait while no node is at work.

    Raises:
        HloError: A competitor has an unknown method; or there is no such cluster, or no node in it
            that can do the tasks that remain.
        DamagedFileError: A result is of another version.
        KeyboardInterrupt: The run was ended by Ctrl-C; all that was measured is kept.
    """
    check_methods(races)
    with needing_ray():
        from experiments.workers.ray.nodes import NodePool
    results = {race: race.result() for race in races}
    machines = {race.program.name: r.machine for race, r in results.items() if r and r.machine}
    with NodePool(work, address, patience) as pool:

        def fits(race: TuningRace, machine: Machine) -> bool:
            wanted = machines.get(race.program.name)
            return wanted == machine or wanted not in {node.machine for node in pool.nodes}

        def race_on(race: TuningRace, machine: Machine) -> NodeTask:
            machines[race.program.name] = machine
            files = race.measurements.glob("*.jsonl")
            return NodeTask(race, {path.name: path.read_bytes() for path in files})

        _do(pool, [race for race in races if results[race] is None], fits, race_on, "tune")
        again = {race: r for race in races if (r := race.result()) and not r.is_final}

        def is_alike(race: TuningRace, machine: Machine) -> bool:
            return again[race].machine in (None, machine)

        def again_on(race: TuningRace, machine: Machine) -> NodeTask:
            del machine
            return NodeTask(race, {}, again[race])

        _do(pool, list(again), is_alike, again_on, "measure again")


def _do(
    pool: "NodePool",
    races: Sequence[TuningRace],
    fits: Callable[[TuningRace, Machine], bool],
    task_on: Callable[[TuningRace, Machine], NodeTask],
    title: str,
) -> None:
    """Has the nodes do the tasks of races; a race that loses its node is given to another one."""
    waiting = deque(races)
    under_way: dict[str, _RaceOnNode] = {}
    losses: Counter[TuningRace] = Counter()
    with tqdm(total=len(races), unit="race", desc=title, disable=None) as bar, ExitStack() as stack:
        stack.callback(lambda: [at_node.close() for at_node in under_way.values()])
        while waiting or under_way:
            for node in pool.idle:
                race = next((race for race in waiting if fits(race, node.machine)), None)
                if race is not None:
                    waiting.remove(race)
                    under_way[node.id] = _RaceOnNode(race, node.name)
                    pool.give(node, task_on(race, node.machine))
            bar.set_postfix_str(f"{len(under_way)} of {len(pool.nodes)} nodes at work")
            for node, report in pool.reports():
                at_node = under_way.get(node.id)
                if at_node is None or not at_node.ends_with(report):
                    continue
                under_way.pop(node.id).close()
                race = at_node.race
                if isinstance(report, WorkerLostError):
                    tqdm.write(f"{race}: {report}", file=sys.stderr)
                    losses[race] += 1
                    if losses[race] < _TRIES:
                        waiting.appendleft(race)
                        continue
                    at_node.ends_with(race.failed(f"{_TRIES} times: {report}"))
                bar.update()


class _RaceOnNode:
    """A race on a node, whose reports are kept in the folder of the run.

    Args:
        race: The race.
        node: Name of the node.
    """

    def __init__(self, race: TuningRace, node: str) -> None:
        self.race, self._node = race, node
        self._outcomes: list[PlanMeasurement] = []
        self._curve: Curve | None = None

    def ends_with(self, report: NodeReport | WorkerLostError) -> bool:
        """Keeps a report, and returns True if no other one follows."""
        match report:
            case str(key):
                self._measurements = Measurements(key, self.race.measurements)
                self._curve = Curve(self.race.board)
                for outcome in self._measurements.known():
                    self._show(outcome)
            case PlanMeasurement():
                self._measurements.add(report)
                self._show(report)
            case RaceResult():
                # The node does not know the folder of the run, nor its own name.
                replace(report, node=self._node).save(self.race.folder)
        return isinstance(report, RaceResult | WorkerLostError)

    def close(self) -> None:
        """Ends the curves."""
        if self._curve is not None:
            self._curve.close()

    def _show(self, outcome: PlanMeasurement) -> None:
        self._outcomes.append(outcome)
        if self._curve is not None:
            self._curve(self._outcomes, max(self._outcomes, key=lambda other: other.ratio))
