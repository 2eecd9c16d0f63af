"""Tasks for worker processes in tests. Workers import this module, so it imports little."""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hlograph.errors import HloParseError
from hlograph.isolation import FlightRecorder


class UnpicklableError(Exception):
    """Exception that cannot be pickled."""

    def __init__(self, one: object, other: object) -> None:
        super().__init__("lost on the way")


def _abort() -> None:
    print("Check failed: 1 == 2", file=sys.stderr, flush=True)
    os.abort()


def _bloat() -> None:
    hoard = []
    while True:
        hoard.append(bytearray(32 << 20))
        time.sleep(0.005)


def _refuse() -> None:
    raise HloParseError("was parsing 3:7: error: no")


def _raise_unpicklable() -> None:
    raise UnpicklableError(1, 2)


DEEDS: dict[str, Callable[[], Any]] = {
    "pid": os.getpid,
    "abort": _abort,
    "segfault": lambda: ctypes.string_at(0),
    "exit": lambda: os._exit(3),
    "hang": lambda: time.sleep(1000),
    "bloat": _bloat,
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "refuse": _refuse,
    "unpicklable": _raise_unpicklable,
    "interrupt": lambda: os.kill(os.getpid(), signal.SIGINT),
}


def make_doer(recorder: FlightRecorder) -> Callable[[str], Any]:
    """Returns a worker whose tasks are names of deeds; with a `!` it records no operation."""

    def work(task: str) -> Any:
        if task.endswith("!"):
            return DEEDS[task[:-1]]()
        recorder.begin(task.encode())
        result = DEEDS[task]()
        recorder.end()
        return result

    return work


LONG = 1000.0


def mark(folder: Path, recorder: FlightRecorder) -> Callable[[str], Any]:
    """Returns a worker that has written a file with the number of its process."""
    (folder / str(os.getpid())).touch()
    return make_doer(recorder)


def mark_and_exit_once(folder: Path, recorder: FlightRecorder) -> Callable[[str], Any]:
    """Returns a worker, and ends the first process that asks for one."""
    recorder.begin(b"beginning")
    if not list(folder.iterdir()):
        mark(folder, recorder)
        os._exit(3)
    recorder.end()
    return make_doer(recorder)


def refuse(recorder: FlightRecorder) -> Callable[[str], Any]:
    """Raises an exception."""
    raise HloParseError("was parsing 3:7: error: no")


def begin_for_long(recorder: FlightRecorder) -> Callable[[str], Any]:
    """Takes long."""
    time.sleep(LONG)
    return make_doer(recorder)
