"""One slot of a pool: a worker process, which is replaced when it is lost."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import types
from collections.abc import Sequence
from multiprocessing import forkserver, get_context, popen_forkserver, spawn
from multiprocessing.context import ForkServerProcess
from typing import Any

from hlograph.errors import WorkerLostError
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.limits import LimitCheck, WorkerLimits, error_of_exit, vitals
from hlograph.isolation.setting import ProcessSetting, starting_a_process
from hlograph.isolation.worker_process import MakeWorker, serve

_GRACE = 2.0  # seconds in which an idle worker has to end by itself
_OUTPUT_SHOWN = 2000
_QUIET_END = "hlograph.isolation.quiet_end"


class Slot:
    """Runs tasks one at a time in a worker process.

    ``run`` blocks and is called by one thread only. Another thread may call ``watch`` meanwhile.

    Args:
        make_worker: See ``WorkerPool``.
        limits: Limits of the worker.
        with_main: See ``WorkerPool``.
        ahead: See ``WorkerPool``.
        setting: Setting of the worker; None is that of this process.
    """

    def __init__(
        self,
        make_worker: MakeWorker,
        limits: WorkerLimits,
        with_main: bool = True,
        ahead: bool = False,
        setting: ProcessSetting | None = None,
    ) -> None:
        self._setting = setting or ProcessSetting.here()
        self._make_worker, self._limits, self._with_main = make_worker, limits, with_main
        self._ahead = ahead
        self._answered = False  # the worker has performed a task
        self._process: Any = None
        self._recorder = FlightRecorder()
        self._output: int | None = None  # file descriptor of the worker's stderr
        self._verdict: WorkerLostError | None = None
        self._check = LimitCheck(limits, self._recorder)
        self._busy = self._interrupted = False
        # Guards what is above and _process: an idle worker is not killed.
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """Process id of the worker; None without one."""
        return self._process.pid if self._process is not None else None

    def run(self, task: Any) -> Any:
        """Runs a task in the worker and returns its result.

        Raises:
            WorkerLostError: The worker ended during the task; the next call starts another one.
            Exception: The exception of the task.
        """
        payload = pickle.dumps(task, protocol=5)
        self._begin()
        try:
            if self._process is None:
                self._start()
            self._kill_if_interrupted()
            self._connection.send_bytes(payload)
            kind, value = pickle.loads(self._connection.recv_bytes())
            self._answered = True
        except (EOFError, OSError) as error:
            self._end()  # before the process is reaped: its id may then belong to another process
            if self._process is None:
                raise WorkerLostError(f"the worker did not start: {error!r}") from error
            raise self._bury() from error
        finally:
            self._end()
        if self._verdict is not None:
            self._bury()  # it was killed just after it had finished
        else:
            self._replace_if_bloated()
        if kind == "raised":
            raise value
        return value

    def start(self) -> None:
        """Starts the worker before its first task. If that fails, the first task tries again."""
        try:
            self._begin()
            self._start()
            self._kill_if_interrupted()
        except Exception:  # whatever it is: an error here would end the thread that serves it
            return
        finally:
            self._end()

    def interrupt(self) -> None:
        """Kills the worker if it starts or runs a task; tasks are lost until ``resume``."""
        with self._lock:
            self._interrupted = True
            if self._busy and self._process is not None:
                self._process.kill()

    def resume(self) -> None:
        """Runs tasks again after ``interrupt``."""
        with self._lock:
            self._interrupted = False

    def close(self) -> None:
        """Ends the worker, which must be idle."""
        if self._process is None:
            return
        self._connection.close()
        # One that is still at work on what comes before its first task would not notice.
        self._process.join(_GRACE if self._answered else 0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._forget()

    def watch(self, now: float) -> None:
        """Kills the worker if it exceeds a limit.

        Args:
            now: Time in seconds on any monotonic clock.
        """
        with self._lock:
            process = self._process
            if process is None or not self._busy or self._verdict is not None:
                return
            state = vitals(process.pid)
            if state is not None:
                self._verdict = self._check(state, now)
            if self._verdict is not None:
                process.kill()

    def _begin(self) -> None:
        with self._lock:
            if self._interrupted:
                raise WorkerLostError("the task was interrupted before it began")
            self._busy = True

    def _end(self) -> None:
        with self._lock:
            self._busy = False

    def _kill_if_interrupted(self) -> None:
        """Kills a worker that was not known yet when ``interrupt`` was called."""
        with self._lock:
            if self._interrupted:
                self._process.kill()

    def _start(self) -> None:
        # A new recorder, because a lost worker may have left the old one half-written.
        self._recorder = FlightRecorder()
        self._connection, theirs = get_context("forkserver").Pipe()
        kind: Any = get_context("forkserver").Process if self._with_main else ProcessWithoutMain
        arguments = (theirs, self._make_worker, self._recorder, self._ahead, self._setting)
        self._answered = False
        process = kind(target=serve, args=arguments, daemon=True)
        self._verdict = None
        self._check = LimitCheck(self._limits, self._recorder)
        try:
            with starting_a_process():  # perhaps the server, too
                process.start()
        finally:
            theirs.close()
        with self._lock:
            self._process = process
        self._connection.recv_bytes()
        # This descriptor stays readable after the process has ended.
        self._output = os.open(f"/proc/{process.pid}/fd/2", os.O_RDONLY)

    def _bury(self) -> WorkerLostError:
        """Cleans up after a worker that has ended, and returns the error that says why."""
        self._process.join()
        status = self._process.exitcode
        operation = self._recorder.operation
        output = self._last_output()
        verdict = self._verdict
        if verdict is None:
            verdict = error_of_exit(status, operation.note if operation else None)
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
        """Ends an idle worker whose memory is near the limit, so that no task is lost."""
        state = vitals(self._process.pid)
        if state is not None and 4 * state.memory > 3 * self._limits.memory:
            self.close()

    def _forget(self) -> None:
        self._connection.close()
        if self._output is not None:
            os.close(self._output)
            self._output = None
        self._process = None


def preload(modules: Sequence[str]) -> None:
    """Makes new workers start with modules already imported, unless a worker has started before."""
    get_context("forkserver").set_forkserver_preload([_QUIET_END, *modules])


def start_server(modules: Sequence[str]) -> None:
    """Starts the server of workers, which imports modules while this process goes on.

    A server that has started before stays as it is.

    Args:
        modules: Modules that workers begin with.
    """
    preload(modules)
    # It inherits the mask. Otherwise a Ctrl-C that comes while it imports ends it with a traceback.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with starting_a_process():
            forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Spawn:
    """Stands in for ``multiprocessing.spawn``, and does not name the main module."""

    @staticmethod
    def get_preparation_data(name: str) -> dict[str, Any]:
        data = spawn.get_preparation_data(name)
        return {key: value for key, value in data.items() if not key.startswith("init_main")}


class _Popen(popen_forkserver.Popen):
    # The method of the standard library with another `spawn`. The usual way, to hide the attributes
    # of `__main__` for a while, is seen by the other threads of the program.
    _launch = types.FunctionType(
        popen_forkserver.Popen._launch.__code__,  # pyright: ignore[reportAttributeAccessIssue]
        {**vars(popen_forkserver), "spawn": _Spawn},
    )


class ProcessWithoutMain(ForkServerProcess):
    """Process of the fork server that does not import the main module.

    A script needs no ``if __name__ == "__main__"`` around the code that starts it then.
    """

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802, the name of the standard library
        return _Popen(process_obj)
