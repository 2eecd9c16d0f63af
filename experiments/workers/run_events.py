"""Shows the progress of a run by bars, and logs its losses."""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tqdm import tqdm

from hlograph.errors import WorkerLostError

EVENTS = "events.jsonl"


class RunEvents:
    """Writes events to a file, a line each, and to the terminal, and counts them.

    Args:
        folder: Folder of the file.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / EVENTS
        self._counts: Counter[str] = Counter()

    def lost(self, error: WorkerLostError, task: str, reproducer: Path | None) -> None:
        """Logs the loss of a worker.

        Args:
            error: The loss.
            task: Description of its task.
            reproducer: File that repeats the loss, if a pass is to blame.
        """
        self._counts[error.kind] += 1
        doing = (error.note or b"").decode("utf-8", "replace").replace("\n", " ")
        self._write(
            {
                "event": error.kind,
                "message": str(error),
                "task": task,
                "doing": doing,
                "seconds": round(error.seconds, 3),
                "output": error.output,
                "reproducer": str(reproducer) if reproducer else None,
            }
        )
        where = f"; reproducer: {reproducer}" if reproducer else ""
        tqdm.write(f"worker {error.kind.replace('_', ' ')} in {task}: {error}{where}")

    def take_counts(self) -> dict[str, int]:
        """Returns the number of events by kind since the last call."""
        counts, self._counts = dict(self._counts), Counter()
        return counts

    def _write(self, event: dict[str, Any]) -> None:
        line = json.dumps({"time": time.time()} | event)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def phase_bar(description: str | None, total: int, unit: str = "task") -> tqdm:
    """Returns the progress bar of one phase of a program, which is shown if it takes a second.

    Args:
        description: Name of the phase; None shows no bar.
        total: Number of units.
        unit: Name of a unit.
    """
    return tqdm(
        desc=description,
        total=total,
        unit=unit,
        delay=1.0,
        leave=None,  # one inside another goes when it is done
        dynamic_ncols=True,
        disable=description is None,
    )
