"""The main loop of a worker process."""

from __future__ import annotations

import gc
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
from hlograph.isolation.setting import ProcessSetting

MakeWorker = Callable[[FlightRecorder], Callable[[Any], Any]]

_OUTPUT_LIMIT = 1 << 20


def serve(
    connection: Connection,
    make_worker: MakeWorker,
    recorder: FlightRecorder,
    ahead: bool,
    setting: ProcessSetting,
) -> None:
    """Runs one task after the other until the pool closes the connection.

    Args:
        connection: Connection for tasks and results, both pickled.
        make_worker: Function that returns the function that performs a task.
        recorder: Flight recorder of the worker.
        ahead: True calls ``make_worker`` at once, and not on the first task. Its exception is that
            of the first task.
        setting: Setting that the process adopts.
    """
    setting.adopt()
    _prepare()
    connection.send_bytes(b"ready")
    work, failed = None, None
    if ahead:
        try:
            work = make_worker(recorder)
        except Exception as error:  # every exception is sent to the pool
            failed = error
    while True:
        try:
            task = pickle.loads(connection.recv_bytes())
        except (EOFError, OSError):
            return
        recorder.end()
        try:
            if failed is not None:
                error, failed = failed, None
                raise error
            if work is None:
                work = make_worker(recorder)
            answer = ("done", work(task))
        except Exception as error:  # every exception of a task is sent to the pool
            answer = ("raised", portable(error))
        recorder.end()
        try:
            connection.send_bytes(pickle.dumps(answer, protocol=5))
        except OSError:
            return
        _forget_old_output()


def _prepare() -> None:
    # What the server process has imported stays, and collecting garbage need not go through it.
    gc.freeze()
    # Ctrl-C reaches every process of the terminal; the pool handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_pool, daemon=True).start()
    # The pool reads the message that XLA writes to stderr before it aborts.
    output = os.memfd_create("worker-stderr")
    os.dup2(output, 2)
    os.close(output)


def _end_with_the_pool() -> None:
    """Ends this process when the pool's process ends, whatever the cause.

    Otherwise a worker could stay behind, for example in a pass that does not terminate. A thread
    can wait for this, because the extension releases the GIL while XLA works.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGKILL)


def _forget_old_output() -> None:
    if os.fstat(2).st_size > _OUTPUT_LIMIT:
        os.ftruncate(2, 0)
        os.lseek(2, 0, os.SEEK_SET)


def portable(error: Exception) -> Exception:
    """Returns the exception with its traceback as a note.

    One that cannot be pickled becomes an HloError with its type and message.
    """
    note = "in a worker process:\n" + "".join(traceback.format_exception(error))
    error.add_note(note)
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever its __reduce__ raises
        error = HloError(f"{type(error).__name__}: {error}")
        error.add_note(note)
    return error
