"""A worker process of another Python, which has its own jax and runs this hlograph's sources."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any, Self, TypeVar

from hlograph.errors import HloError, WorkerLostError, WorkerTimedOutError
from hlograph.isolation.limits import error_of_exit
from hlograph.isolation.side_process import end_with_the_program
from hlograph.isolation.worker_process import portable

T = TypeVar("T")
R = TypeVar("R")

_START_SECONDS = 120.0  # for Python, and for the import of jax on a busy machine
_GRACE = 5.0  # seconds in which an idle process has to end by itself
_OUTPUT_SHOWN = 2000

# Finds the package hlograph in a folder, and nothing else there: the folder may be the
# site-packages of a Python of another version. What the sources do not have, such as the extension
# of that Python, is left to the finders of the process.
_BEGIN = """
import importlib.machinery, importlib.util, json, sys
descriptors, package = json.loads(sys.argv[1])
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "hlograph":
            return importlib.util.spec_from_file_location(
                name, package + "/__init__.py", submodule_search_locations=[package])
        if name.startswith("hlograph."):
            return importlib.machinery.PathFinder.find_spec(name, path)
sys.meta_path.insert(0, Finder())
from hlograph.isolation.interpreter import serve
serve(*descriptors)
"""


class InterpreterProcess:
    """A process of any Python interpreter in which one object lives.

    The process runs the sources of this hlograph, whatever hlograph its environment has. It needs
    the packages that those sources import for the object. It ends when this process does.

    Args:
        python: The interpreter, such as ``/other/venv/bin/python``.
        make: Makes the object in the process; can be pickled, as a class of hlograph.
        environment: Environment variables beside those of this process.

    Raises:
        HloError: The interpreter does not start, or lacks a package.
    """

    def __init__(
        self,
        python: str | os.PathLike[str],
        make: Callable[[], Any],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.python = os.fspath(python)
        self._connection, theirs = Pipe()
        self._lifeline, their_lifeline = Pipe()  # is closed when this process ends
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, closed by close
        package = str(Path(__file__).resolve().parents[1])
        descriptors = theirs.fileno(), their_lifeline.fileno()
        start = json.dumps([descriptors, package])
        try:
            with theirs, their_lifeline:
                self._process = subprocess.Popen(
                    [self.python, "-c", _BEGIN, start],
                    stdin=subprocess.DEVNULL,
                    stdout=self._output,
                    stderr=self._output,
                    pass_fds=descriptors,
                    process_group=0,  # Ctrl-C does not reach it
                    env={**os.environ, **(environment or {})},
                )
        except OSError as error:
            self._close_files()
            raise HloError(
                f"cannot run {self.python!r}: {error}. Expected a Python interpreter, such as "
                "/other/venv/bin/python"
            ) from error
        try:
            self._exchange(pickle.dumps(make), _START_SECONDS)
        except WorkerLostError as lost:
            self.close()
            last = lost.output.strip().splitlines()[-1:] or [str(lost)]
            raise HloError(
                f"{self.python} does not run hlograph: {last[0]}. It needs Python 3.11 or newer "
                "with jax, jaxlib and numpy"
            ) from lost
        except BaseException:
            self.close()
            raise

    def call(self, method: Callable[..., R], seconds: float, /, *args: Any, **kwargs: Any) -> R:
        """Calls a method of the object.

        Args:
            method: The method of its class, such as ``JaxlibSide.compile``.
            seconds: Seconds after which the process is killed.
            *args: Its arguments, which can be pickled, as its result can.
            **kwargs: Its keyword arguments.

        Raises:
            WorkerLostError: The process ended, or took too long.
            Exception: The exception of the method, with its traceback as a note.
        """
        task = pickle.dumps((method.__name__, args, kwargs), protocol=5)
        return self._exchange(task, seconds)

    def close(self) -> None:
        """Ends the process."""
        self._close_files()
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _exchange(self, payload: bytes, seconds: float) -> Any:
        try:
            self._connection.send_bytes(payload)
            if not self._connection.poll(seconds):
                self._process.kill()
                self._process.wait()
                raise WorkerTimedOutError(
                    f"{self.python} took longer than {seconds:g} s", output=self._last_output()
                )
            kind, value = pickle.loads(self._connection.recv_bytes())
        except (EOFError, OSError) as error:
            lost = error_of_exit(self._process.wait(), None)
            lost.output = self._last_output()
            raise lost from error
        if kind == "raised":
            raise value
        return value

    def _close_files(self) -> None:
        self._connection.close()
        self._lifeline.close()
        self._output.close()

    def _last_output(self) -> str:
        size = self._output.seek(0, os.SEEK_END)
        self._output.seek(max(size - _OUTPUT_SHOWN, 0))
        return self._output.read().decode("utf-8", "replace").strip()


class InterpreterOwner:
    """Has an interpreter's process to itself, and ends it with its block."""

    _process: InterpreterProcess

    def close(self) -> None:
        """Ends the process."""
        self._process.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def serve(descriptor: int, lifeline: int) -> None:
    """Makes an object and calls its methods; the main program of the process.

    Args:
        descriptor: File descriptor of the connection.
        lifeline: File descriptor of a connection that is closed when the process has to end.
    """
    connection, closed = Connection(descriptor), Connection(lifeline)
    for each in (connection, closed):
        os.set_inheritable(each.fileno(), False)
    threading.Thread(target=end_with_the_program, args=(closed,), daemon=True).start()
    try:
        target = _answer(connection, pickle.loads(connection.recv_bytes()), send=False)
        while True:
            name, args, kwargs = pickle.loads(connection.recv_bytes())
            _answer(connection, getattr(target, name), args, kwargs)
    except (EOFError, OSError):
        return


def _answer(
    connection: Connection,
    function: Callable[..., T],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    send: bool = True,
) -> T | None:
    """Sends what a function returns or raises.

    Args:
        connection: The connection.
        function: The function.
        args: Its arguments.
        kwargs: Its keyword arguments.
        send: False sends nothing in the place of the value.

    Returns:
        The value; None if it raised.
    """
    value = None
    try:
        value = function(*args, **(kwargs or {}))
        answer = pickle.dumps(("done", value if send else None), protocol=5)
    except Exception as error:  # every exception is sent
        answer = pickle.dumps(("raised", portable(error)), protocol=5)
    connection.send_bytes(answer)
    return value
