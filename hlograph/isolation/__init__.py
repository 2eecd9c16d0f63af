"""Worker processes for work that may abort, hang or eat up memory, as compilers do.

    with WorkerPool(make_worker, workers=2, limits=Limits(seconds=30)) as pool:
        for number, result in pool.map(tasks):
            ...  # the worker's result, or a WorkerLostError that says what became of it

`make_worker(recorder)` is called in each worker process and returns the function that does a
task. Around what may end the process it calls `recorder.begin(note)` and `recorder.end()`, so
that the pool can say what a lost worker was doing.
"""

from __future__ import annotations

from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.limits import Limits
from hlograph.isolation.pass_call import PassCall
from hlograph.isolation.pool import InProcessPool, Pool, WorkerPool, make_pool
from hlograph.isolation.quarantine import Quarantine, Reproducer

__all__ = [
    "FlightRecorder",
    "InProcessPool",
    "Limits",
    "PassCall",
    "Pool",
    "Quarantine",
    "Reproducer",
    "WorkerPool",
    "make_pool",
]
