"""Tasks for workers on a Ray cluster; a module of its own, since workers import it."""

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from hlograph import corpus
from hlograph.errors import HloParseError
from hlograph.isolation import FlightRecorder


def make_summer(recorder: FlightRecorder) -> Callable[[Any], Any]:
    """Makes a worker that clears arrays of its tasks, dicts, and returns what they were.

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


def reporter(task: Any) -> Iterator[Any]:
    """Reports its process, then what the task is.

    The task "hang" never ends after that, "die" ends the process, and "refuse" raises.
    """
    yield os.getpid()
    yield task
    if task == "hang":
        time.sleep(3600)
    if task == "die":
        os._exit(1)
    if task == "refuse":
        raise HloParseError("error: no")
