"""What runs in a worker process."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Any

from hlograph.errors import HloError
from hlograph.isolation.flight_recorder import FlightRecorder

MakeWorker = Callable[[FlightRecorder], Callable[[Any], Any]]

_OUTPUT_LIMIT = 1 << 20


def serve(connection: Connection, make_worker: MakeWorker, recorder: FlightRecorder) -> None:
    """Does one task after the other until the pool closes the connection.

    Args:
        connection: Tasks come in and results go out, both pickled.
        make_worker: Makes the function that does a task.
        recorder: Where the worker notes what it is doing.
    """
    _prepare()
    connection.send_bytes(b"ready")
    work = None
    while True:
        try:
            task = pickle.loads(connection.recv_bytes())
        except (EOFError, OSError):
            return
        recorder.end()
        try:
            if work is None:
                work = make_worker(recorder)
            answer = ("done", work(task))
        except Exception as error:  # all that a task raises goes to whoever gave it
            answer = ("raised", _portable(error))
        recorder.end()
        try:
            connection.send_bytes(pickle.dumps(answer, protocol=5))
        except OSError:
            return
        _forget_old_output()


def _prepare() -> None:
    # Ctrl-C reaches every process of the terminal: it is the pool's to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_pool, daemon=True).start()
    # What is written to stderr before an abort says why; the pool reads it from here.
    output = os.memfd_create("worker-stderr")
    os.dup2(output, 2)
    os.close(output)


def _end_with_the_pool() -> None:
    """Ends this process when the pool's process does, however it does.

    A worker must not go on alone, in a pass that never ends say. A thread can wait for it:
    the engine releases the interpreter's lock while it works.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGKILL)


def _forget_old_output() -> None:
    if os.fstat(2).st_size > _OUTPUT_LIMIT:
        os.ftruncate(2, 0)
        os.lseek(2, 0, os.SEEK_SET)


def _portable(error: Exception) -> Exception:
    """The exception, or where it cannot be pickled one that says the same."""
    error.add_note("in a worker process:\n" + "".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever its __reduce__ raises
        return HloError("".join(traceback.format_exception(error)))
    return error
