"""Worker processes for tasks that may abort, hang or run out of memory, as in compilers.

    with WorkerPool(make_worker, workers=2, limits=WorkerLimits(seconds=30)) as pool:
        for number, result in pool.map(tasks):
            ...  # the worker's result, or a WorkerLostError with the cause of the loss

`make_worker(recorder)` is called in each worker process and returns the function that performs a
task. Before and after an operation that may end the process, this function calls
`recorder.begin(note)` and `recorder.end()`. So the pool knows what a lost worker was doing.

``Remote`` is an object in a worker process, whose methods are called one at a time.

``InterpreterProcess`` is such an object in a process of another Python, which an
``InterpreterOwner`` ends.

``SideProcess`` is another kind of process: it performs one long task beside the program, and may
have workers of its own.
"""

from __future__ import annotations

from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.interpreter import InterpreterOwner, InterpreterProcess
from hlograph.isolation.limits import WorkerLimits
from hlograph.isolation.pass_call import PassCall
from hlograph.isolation.pool import InProcessPool, Pool, WorkerPool, make_pool
from hlograph.isolation.quarantine import Quarantine, Reproducer
from hlograph.isolation.remote import Remote
from hlograph.isolation.setting import ProcessSetting
from hlograph.isolation.side_process import SideProcess
from hlograph.isolation.slot import start_server

__all__ = [
    "FlightRecorder",
    "InProcessPool",
    "InterpreterOwner",
    "InterpreterProcess",
    "PassCall",
    "Pool",
    "ProcessSetting",
    "Quarantine",
    "Remote",
    "Reproducer",
    "SideProcess",
    "WorkerLimits",
    "WorkerPool",
    "make_pool",
    "start_server",
]
