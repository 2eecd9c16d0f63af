"""One place of a pool: a worker process, and its replacement when it is lost."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Sequence
from multiprocessing import get_context
from typing import Any

from hlograph.errors import (
    WorkerCrashedError,
    WorkerKilledError,
    WorkerLostError,
    WorkerOutOfMemoryError,
    WorkerTimedOutError,
)
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.limits import Limits, Vitals, vitals
from hlograph.isolation.worker_process import MakeWorker, serve

_GRACE = 2.0  # seconds that an idle worker has to end by itself
_OUTPUT_SHOWN = 2000
# Signals that a process raises itself when something is wrong in it; the others come from outside.
_OF_ITS_OWN = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
_GIB = 1 << 30


class Slot:
    """Runs tasks in a process of its own, one at a time.

    ``run`` blocks and belongs to one thread; ``watch`` is called by another meanwhile.

    Args:
        make_worker: See ``WorkerPool``.
        limits: When to give the worker up.
    """

    def __init__(self, make_worker: MakeWorker, limits: Limits) -> None:
        self._make_worker, self._limits = make_worker, limits
        self._process: Any = None
        self._recorder = FlightRecorder()
        self._output: int | None = None  # descriptor of what the worker writes to stderr
        self._verdict: WorkerLostError | None = None
        self._stopped_since: float | None = None
        self._memory_before = 0
        self._busy = False
        self._lock = threading.Lock()  # of _busy and _verdict: nobody kills an idle worker

    @property
    def pid(self) -> int | None:
        """The worker's process, if there is one."""
        return self._process.pid if self._process is not None else None

    def run(self, task: Any) -> Any:
        """Has the worker do a task.

        Raises:
            WorkerLostError: The worker ended on the way; the next call starts another one.
            Exception: What the task raised.
        """
        payload = pickle.dumps(task, protocol=5)
        if self._process is None:
            self._start()
        self._set_busy(True)
        try:
            self._connection.send_bytes(payload)
            kind, value = pickle.loads(self._connection.recv_bytes())
        except (EOFError, OSError) as error:
            self._set_busy(False)
            raise self._bury() from error
        self._set_busy(False)
        if self._verdict is not None:
            self._bury()  # it was killed just as it had finished
        else:
            self._replace_if_bloated()
        if kind == "raised":
            raise value
        return value

    def interrupt(self) -> None:
        """Kills the worker if it is at a task, which is lost."""
        with self._lock:
            if self._busy and self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """Ends the worker, which must be idle."""
        if self._process is None:
            return
        self._connection.close()
        self._process.join(_GRACE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._forget()

    def watch(self, now: float) -> None:
        """Kills the worker if it is beyond a limit.

        Args:
            now: Seconds on a clock of the caller's.
        """
        with self._lock:
            process = self._process
            if process is None or not self._busy or self._verdict is not None:
                return
            found = vitals(process.pid)
            if found is not None:
                self._verdict = self._judge(found, now)
            if self._verdict is not None:
                process.kill()

    def _set_busy(self, busy: bool) -> None:
        with self._lock:
            self._busy = busy

    def _start(self) -> None:
        context = get_context("forkserver")
        # A new one, for the lost worker may have left this one half-written.
        self._recorder = FlightRecorder()
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=serve, args=(theirs, self._make_worker, self._recorder), daemon=True
        )
        self._process.start()
        theirs.close()
        self._verdict = self._stopped_since = None
        self._memory_before = 0
        try:
            self._connection.recv_bytes()
        except EOFError as error:
            raise self._bury() from error
        # Stays readable when the process is gone.
        self._output = os.open(f"/proc/{self._process.pid}/fd/2", os.O_RDONLY)

    def _judge(self, found: Vitals, now: float) -> WorkerLostError | None:
        """What a worker is to be killed for, if anything."""
        operation = self._recorder.operation
        note = operation.note if operation else None
        seconds = operation.seconds if operation else 0.0
        if not found.stopped:
            self._stopped_since = None
        elif self._stopped_since is None:
            self._stopped_since = now
        elif now - self._stopped_since > self._limits.stopped_seconds:
            return WorkerTimedOutError("the worker was stopped", note=note, seconds=seconds)
        if found.memory > self._limits.memory:
            # An operation is to blame if most of the growth is its own: not one that
            # happened to be at it when a slow leak came to the limit.
            grown = found.memory - self._memory_before
            return WorkerOutOfMemoryError(
                f"the worker took {found.memory / _GIB:.1f} GiB of memory, its limit is "
                f"{self._limits.memory / _GIB:.1f}",
                note=note,
                seconds=seconds,
                to_blame=2 * grown > self._limits.memory,
            )
        if operation is None:
            self._memory_before = found.memory
            if self._recorder.idle_seconds > self._limits.idle_seconds:
                return WorkerTimedOutError(
                    f"no sign of life from the worker for {self._limits.idle_seconds:g} s"
                )
        elif not found.stopped and seconds > (limit := operation.limit or self._limits.seconds):
            message = f"an operation took longer than its {limit:g} s"
            return WorkerTimedOutError(message, note=note, seconds=seconds, to_blame=True)
        return None

    def _bury(self) -> WorkerLostError:
        """What became of a worker that is gone."""
        self._process.join()
        status = self._process.exitcode
        operation = self._recorder.operation
        output = self._last_output()
        verdict = self._verdict
        if verdict is None:
            verdict = _ended(status, operation.note if operation else None)
            verdict.seconds = operation.seconds if operation else 0.0
        verdict.output = output
        self._forget()
        return verdict

    def _last_output(self) -> str:
        if self._output is None:
            return ""
        size = os.fstat(self._output).st_size
        read = os.pread(self._output, _OUTPUT_SHOWN, max(size - _OUTPUT_SHOWN, 0))
        return read.decode("utf-8", "replace").strip()

    def _replace_if_bloated(self) -> None:
        """Ends a worker that came near its limit, between two tasks, where nothing is lost."""
        found = vitals(self._process.pid)
        if found is not None and 4 * found.memory > 3 * self._limits.memory:
            self.close()

    def _forget(self) -> None:
        self._connection.close()
        if self._output is not None:
            os.close(self._output)
            self._output = None
        self._process = None


def _ended(status: int, note: bytes | None) -> WorkerLostError:
    """Why a worker ended that was not killed by its pool."""
    if status >= 0:
        message = f"the worker exited with status {status}"
        return WorkerCrashedError(message, note=note, to_blame=True)
    name = signal.Signals(-status).name
    if -status in _OF_ITS_OWN:
        return WorkerCrashedError(f"the worker ended by {name}", note=note, to_blame=True)
    return WorkerKilledError(
        f"the worker was killed by {name}: by somebody, or by the kernel for want of memory",
        note=note,
    )


def preload(modules: Sequence[str]) -> None:
    """Has new workers begin with modules already imported, if no worker was started yet."""
    get_context("forkserver").set_forkserver_preload(list(modules))
