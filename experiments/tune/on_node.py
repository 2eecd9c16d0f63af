"""The work of a node of a cluster: a race, or the second measurement of a winner."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import SimpleQueue

from experiments.search.tuning.searchers import register_all
from experiments.speed.results import SpeedResult
from experiments.speed.trials import Rules, Subject, measured_again, plan_file, raced
from hlograph.measuring.trial import Outcome
from hlograph.optimization.measurements import Measurements
from hlograph.storage.atomic_write import write_bytes_atomically

Files = Mapping[str, bytes]
"""Contents by path in the folder of a race's results."""


@dataclass(frozen=True)
class Task:
    """A race, or the second measurement of its winner."""

    subject: Subject
    rules: Rules
    files: Files
    """Measurements of the race so far; for a second measurement, the plan."""
    result: SpeedResult | None = None
    """Result to measure again; None is a race."""


@dataclass(frozen=True)
class Key:
    """Report that a race has begun or goes on, with the key of its measurements."""

    key: str


@dataclass(frozen=True)
class Ended:
    """Report of a result, and of the plan that is to be stored with it."""

    result: SpeedResult
    files: Files = field(default_factory=dict)


def work(task: Task) -> Iterator[Key | Outcome | Ended]:
    """Does a task in a temporary folder.

    Yields:
        Of a race its key, each new outcome as soon as it is known, and the result; of a second
        measurement the result.
    """
    register_all()
    with tempfile.TemporaryDirectory(prefix="hlograph-race-") as name:
        folder = Path(name)
        for file, content in task.files.items():
            write_bytes_atomically(folder / file, content)
        if task.result is None:
            yield from _race(task, folder)
        else:
            yield Ended(measured_again(task.result, task.subject, task.rules, folder))


def _race(task: Task, folder: Path) -> Iterator[Key | Outcome | Ended]:
    reports: SimpleQueue[Key | Outcome | None] = SimpleQueue()
    keep = partial(_Reported, reports.put)
    with ThreadPoolExecutor(1) as thread:
        race = thread.submit(raced, task.subject, task.rules, folder, keep=keep)
        race.add_done_callback(lambda _: reports.put(None))
        while (report := reports.get()) is not None:
            yield report
    plan = plan_file(folder, task.subject)
    files = {str(plan.relative_to(folder)): plan.read_bytes()} if plan.is_file() else {}
    yield Ended(race.result(), files)


class _Reported(Measurements):
    """Measurements that go to whoever gave the race, who keeps them.

    Args:
        report: Function that sends a report.
        key: Key of the job.
        folder: Folder of what was measured before.
    """

    def __init__(self, report: Callable[[Key | Outcome], None], key: str, folder: Path) -> None:
        super().__init__(key, folder)
        self._report = report
        report(Key(key))

    def add(self, outcome: Outcome) -> None:
        """Sends an outcome."""
        self._report(outcome)
