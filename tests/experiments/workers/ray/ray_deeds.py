"""Tasks for workers on a Ray cluster; a module of its own, since workers import it."""

from collections.abc import Callable
from typing import Any

from hlograph import corpus
from hlograph.isolation import FlightRecorder


def make_summer(recorder: FlightRecorder) -> Callable[[Any], Any]:
    """A worker whose tasks are dicts of arrays: it clears them, and returns what they were.

    Of the task "corpus" it returns where the corpus is.
    """

    def work(task: Any) -> Any:
        if task == "corpus":
            return str(corpus.root())
        found = {name: array.copy() for name, array in task.items()}
        for array in task.values():
            array[...] = 0
        return found

    return work
