"""A process of low priority beside the program, which may have workers of its own."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from multiprocessing import Pipe, spawn
from multiprocessing.connection import Connection, wait
from typing import Any

from hlograph.isolation.limits import error_of_exit
from hlograph.isolation.setting import ProcessSetting, environment_at_start
from hlograph.isolation.worker_process import portable

_NICENESS = 10
_GRACE = 10.0  # seconds that the process has to end after its last answer

# sys.path comes from here, so that it finds the same modules.
_BEGIN = "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
_BEGIN += "from hlograph.isolation.side_process import serve; serve(int(sys.argv[1]))"


class SideProcess:
    """A process that performs one task, which yields answers.

    Its priority is low, and so is that of the processes that it starts. It ends when this process
    does, whatever the cause. Ctrl-C does not reach it. It does not import the main module. It has
    the setting of this process and thread.

    Args:
        task: Function without arguments that yields answers, pickled.
    """

    def __init__(self, task: bytes) -> None:
        self._task = pickle.dumps((ProcessSetting.here(), task))
        self._connection, theirs = Pipe()
        command = [spawn.get_executable(), "-c", _BEGIN, str(theirs.fileno()), json.dumps(sys.path)]
        with theirs:
            # A terminal sends Ctrl-C to another group. A session of its own would do that, too, but
            # Linux shares the CPU among sessions whatever their priorities (autogroup).
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                process_group=0,
                env=environment_at_start(),
            )

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def answers(self) -> Generator[Any]:
        """Yields the answers of the task, once; then the process has ended.

        Raises:
            WorkerLostError: The process ended before the task did.
            Exception: The exception of the task.
        """
        kind = ""
        try:
            self._send()
            while True:
                kind, value = self._receive()
                if kind == "end":
                    return
                if kind == "raised":
                    raise value
                yield value
        finally:
            if kind == "answer":  # the caller stopped before the last answer
                self.kill()
            self._bury()

    def kill(self) -> None:
        """Ends the process; may be called from any thread."""
        self._process.kill()

    def _send(self) -> None:
        try:
            self._connection.send_bytes(self._task)
        except OSError as error:
            raise error_of_exit(self._process.wait(), None) from error
        self._task = b""

    def _receive(self) -> tuple[str, Any]:
        try:
            return self._connection.recv()
        except (EOFError, OSError) as error:
            raise error_of_exit(self._process.wait(), None) from error

    def _bury(self) -> None:
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        self._connection.close()


def serve(descriptor: int) -> None:
    """Performs the task that comes from a connection; the main program of the process.

    Args:
        descriptor: File descriptor of the connection.
    """
    os.nice(_NICENESS)
    os.set_inheritable(descriptor, False)
    connection = Connection(descriptor)
    try:
        task = connection.recv_bytes()
    except EOFError:
        return
    threading.Thread(target=end_with_the_program, args=(connection,), daemon=True).start()
    try:
        setting, task = pickle.loads(task)
        setting.adopt()
        for answer in pickle.loads(task)():
            connection.send(("answer", answer))
        last = ("end", None)
    except Exception as error:  # every exception of the task is sent
        last = ("raised", portable(error))
    connection.send(last)


def end_with_the_program(connection: Connection) -> None:
    """Ends this process when the other end of the connection is closed, by whatever cause."""
    wait([connection])
    os.kill(os.getpid(), signal.SIGKILL)
