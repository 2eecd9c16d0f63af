"""The races of a run on the nodes of a Ray cluster; all that they find is kept here."""

import sys
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from tqdm import tqdm

from experiments.speed.results import SpeedResult
from experiments.speed.trials import failed, measurements_folder, plan_file
from experiments.tune.boards import Board
from experiments.tune.on_node import Ended, Key, Task, work
from experiments.tune.races import Race, check_methods
from experiments.workers.pools import needing_ray
from hlograph.errors import WorkerLostError
from hlograph.measuring.trial import Outcome
from hlograph.optimization.measurements import Measurements
from hlograph.storage.atomic_write import write_bytes_atomically
from hlograph.storage.machine import Machine

if TYPE_CHECKING:
    from experiments.workers.ray.nodes import NodePool

_TRIES = 5  # nodes that a race may lose


def run_on_cluster(races: Sequence[Race], address: str | None, patience: float = 600.0) -> None:
    """Runs the races that have no result on the nodes of a cluster, then measures winners again.

    Each node has one race at a time. The races of a program are on machines of one kind, as long as
    there is one of it, and a winner is measured again on a machine of the kind of its race.

    Args:
        races: The races.
        address: Cluster to join; None starts one of this machine alone.
        patience: Seconds to wait while no node is at work.

    Raises:
        HloError: A competitor has an unknown method; or there is no such cluster, or no node in it
            that can do what is left.
        DamagedFileError: A result is of another version.
        KeyboardInterrupt: The run was ended by Ctrl-C; all that was measured is kept.
    """
    check_methods(races)
    with needing_ray():
        from experiments.workers.ray.nodes import NodePool
    results = [(race, race.result()) for race in races]
    kinds = {race.subject.name: one.machine for race, one in results if one and one.machine}
    with NodePool(work, address, patience) as pool:

        def fits(race: Race, kind: Machine) -> bool:
            there = {node.machine for node in pool.nodes}
            wanted = kinds.get(race.subject.name)
            return wanted == kind or wanted not in there

        def race_on(race: Race, kind: Machine) -> Task:
            kinds[race.subject.name] = kind
            return _race_task(race)

        _do(pool, [race for race, one in results if one is None], fits, race_on, "tune")
        again = {race: one for race in races if (one := race.result()) and not one.is_final}

        def is_alike(race: Race, kind: Machine) -> bool:
            return again[race].machine in (None, kind)

        def again_on(race: Race, kind: Machine) -> Task:
            return _second_task(race, again[race])

        _do(pool, list(again), is_alike, again_on, "measure again")


def _race_task(race: Race) -> Task:
    """Returns a race, with what was measured in it before on machines of any kind."""
    files = measurements_folder(race.folder, race.subject).glob("*.jsonl")
    before = {str(path.relative_to(race.folder)): path.read_bytes() for path in files}
    return Task(race.subject, race.rules, before)


def _second_task(race: Race, result: SpeedResult) -> Task:
    plan = plan_file(race.folder, race.subject)
    files = {str(plan.relative_to(race.folder)): plan.read_bytes()}
    return Task(race.subject, race.rules, files, result)


def _do(
    pool: "NodePool",
    races: Sequence[Race],
    fits: Callable[[Race, Machine], bool],
    task_on: Callable[[Race, Machine], Task],
    title: str,
) -> None:
    """Has the nodes do the tasks of races; one that loses its node is given to another one."""
    waiting = deque(races)
    under_way: dict[str, _UnderWay] = {}
    losses: Counter[Race] = Counter()
    with tqdm(total=len(races), unit="race", desc=title, disable=None) as bar, ExitStack() as left:
        left.callback(lambda: [one.close() for one in under_way.values()])
        while waiting or under_way:
            for node in pool.idle:
                race = next((race for race in waiting if fits(race, node.machine)), None)
                if race is not None:
                    waiting.remove(race)
                    under_way[node.id] = _UnderWay(race, node.name)
                    pool.give(node, task_on(race, node.machine))
            bar.set_postfix_str(f"{len(under_way)} of {len(pool.nodes)} nodes at work")
            for node, report in pool.reports():
                one = under_way.get(node.id)
                if one is None or not one.ends_with(report):
                    continue
                under_way.pop(node.id).close()
                if isinstance(report, WorkerLostError):
                    tqdm.write(f"{one.race.name}: {report}", file=sys.stderr)
                    losses[one.race] += 1
                    if losses[one.race] < _TRIES:
                        waiting.appendleft(one.race)
                        continue
                    one.ends_with(Ended(failed(one.race.subject, f"{_TRIES} times: {report}")))
                bar.update()


class _UnderWay:
    """A race on a node, whose reports are kept in the folder of the run.

    Args:
        race: The race.
        node: Name of the node.
    """

    def __init__(self, race: Race, node: str) -> None:
        self.race, self._node = race, node
        self._outcomes: list[Outcome] = []
        self._boards = ExitStack()

    def ends_with(self, report: Key | Outcome | Ended | WorkerLostError) -> bool:
        """Keeps a report, and returns True if no other one follows."""
        match report:
            case Key(key):
                folder = measurements_folder(self.race.folder, self.race.subject)
                self._measurements = Measurements(key, folder)
                self._board = self._boards.enter_context(Board(self.race.board))
                for outcome in self._measurements.known():
                    self._show(outcome)
            case Outcome():
                self._measurements.add(report)
                self._show(report)
            case Ended(result, files):
                for file, content in files.items():
                    write_bytes_atomically(self.race.folder / file, content)
                replace(result, node=self._node).save(self.race.folder)
        return isinstance(report, Ended | WorkerLostError)

    def close(self) -> None:
        """Ends the curves."""
        self._boards.close()

    def _show(self, outcome: Outcome) -> None:
        self._outcomes.append(outcome)
        self._board(self._outcomes, max(self._outcomes, key=lambda one: one.ratio))
