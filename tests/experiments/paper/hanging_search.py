"""A search that never ends, for tests of limits."""

import time
from dataclasses import dataclass

from experiments.workers.worker import RolloutWorker, Task


@dataclass(frozen=True)
class HangingSearch(Task):
    """Sleeps until its worker is ended."""

    benchmark: str

    def do(self, worker: RolloutWorker) -> None:
        """Notes an operation that may take a fifth of a second, and never ends it."""
        worker.recorder.begin(f"a search of {self.benchmark}".encode(), 0.2)
        time.sleep(3600)
