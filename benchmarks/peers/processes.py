"""Processes of peers, and the times of their programs, taken in turns."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.peers.environments import PeerEnvironment
from benchmarks.peers.worker import PeerWorker
from hlograph.comparing.timing import turns_of
from hlograph.errors import HloError, WorkerLostError
from hlograph.execution.load import Reading
from hlograph.isolation import InterpreterOwner, InterpreterProcess
from hlograph.measuring.trial import Effort
from hlograph.optimization.process_settings import ENVIRONMENT
from hlograph.plans import Plan
from hlograph.storage.atomic_write import write_atomically

R = TypeVar("R")

TURNS = Effort(pairs=30, block_seconds=0.02, max_seconds=12.0, thorough=False, least=5)
"""Duration of the turns of one program."""

SECONDS = 600.0
"""Seconds that a compilation, a comparison or a block of calls may take."""

SEARCH_SECONDS = 900.0
"""Seconds that a search may take beyond its budget."""

_ROOT = Path(__file__).parents[2]
_ERROR_SHOWN = 200

MALLOC = {name: value for name, _, value in (p.partition("=") for p in ENVIRONMENT.split())}
"""Environment in which glibc keeps freed memory, the same for all peers where it is asked for."""


class PeerProcess(InterpreterOwner):
    """A process of a peer's interpreter, with one worker in it.

    Args:
        name: Name of the peer.
        python: Its interpreter.
        make: Makes the worker in the process.
        threads: Threads of the libraries that take the number from the environment.
        environment: Further environment variables.

    Raises:
        HloError: The process does not start.
    """

    def __init__(
        self,
        name: str,
        python: str,
        make: Callable[[], Any],
        threads: int,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        numbers = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
        variables = dict.fromkeys(numbers, str(threads)) | {"PYTHONPATH": str(_ROOT)}
        self._process = InterpreterProcess(python, make, variables | dict(environment or {}))

    def call(
        self, method: Callable[..., R], *args: Any, limit: float = SECONDS, **kwargs: Any
    ) -> R:
        """Calls a method of the worker; see ``InterpreterProcess.call``.

        Args:
            method: The method of its class.
            *args: Its arguments.
            limit: Seconds after which the process is killed.
            **kwargs: Its keyword arguments.
        """
        return self._process.call(method, limit, *args, **kwargs)

    def seconds(self, key: str, calls: int) -> float:
        """Returns the mean seconds of some calls.

        Raises:
            PeerFailedError: The process ended, or the call failed.
        """
        return self._run(PeerWorker.seconds, calls)

    def _run(self, method: Callable[..., R], *args: Any) -> R:
        try:
            return self.call(method, *args)
        except Exception as error:  # whatever the peer raises
            raise PeerFailedError(self.name, reason_of(error)) from error

    def reading(self) -> Reading:
        """Returns what the system has counted for the process."""
        return self.call(PeerWorker.reading)


@dataclass(frozen=True)
class PeersRun:
    """Conditions of a run.

    Attributes:
        folder: Folder of the run.
        environments: Folder of the peers' environments.
        threads: Threads of each peer.
        variables: Environment variables of all peers.
    """

    folder: Path
    environments: Path
    threads: int
    variables: Mapping[str, str] = field(default_factory=lambda: MALLOC)

    def start(
        self, name: str, make: Callable[[], Any], environment: PeerEnvironment | None = None
    ) -> PeerProcess:
        """Starts a process.

        Args:
            name: Name of the peer.
            make: Makes the worker in the process.
            environment: Its environment; None takes that of this process.

        Raises:
            HloError: The environment cannot be made, or the process does not start.
        """
        python = sys.executable if environment is None else environment.python(self.environments)
        # Measurements of earlier runs would make a search longer than its budget.
        variables = {"HLOGRAPH_CACHE": str((self.folder / "cache").resolve())}
        variables["TORCHINDUCTOR_CACHE_DIR"] = str((self.folder / "inductor").resolve())
        return PeerProcess(name, python, make, self.threads, {**self.variables, **variables})


def searched(file: Path, search: Callable[[str], Any]) -> tuple[Plan, float | None]:
    """Returns the plan of a file, and the seconds of its search; None if an earlier run made it.

    Args:
        file: The file.
        search: Searches and writes the plan to a path.
    """
    if file.is_file():
        return Plan.load(file), None
    file.parent.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()
    write_atomically(file, lambda path: search(str(path)))
    return Plan.load(file), time.perf_counter() - begun


class PeerFailedError(HloError):
    """Raised when a peer fails while it is timed.

    Args:
        peer: Name of the peer.
        reason: What went wrong.
    """

    def __init__(self, peer: str, reason: str) -> None:
        super().__init__(f"{peer}: {reason}")
        self.peer, self.reason = peer, reason


def timed_in_turns(
    peers: Mapping[str, PeerProcess], effort: Effort = TURNS
) -> tuple[dict[str, tuple[float, ...]], dict[str, str]]:
    """Times the programs of some processes in turns.

    A peer that fails on the way is left out, and the others are timed without it.

    Args:
        peers: Processes that are ready to run, by name.
        effort: Duration.

    Returns:
        Seconds of one call in each turn, and the reasons of failures, by name.
    """
    rest, failures = dict(peers), {}
    while rest:
        try:
            turns = turns_of([(process, name) for name, process in rest.items()], effort)
        except PeerFailedError as error:
            failures[error.peer] = error.reason
            del rest[error.peer]
        else:
            columns = (tuple(column.tolist()) for column in turns.seconds.T)
            return dict(zip(rest, columns, strict=True)), failures
    return {}, failures


def reason_of(error: BaseException) -> str:
    """Returns why something failed, in one short line."""
    text = str(error)
    if isinstance(error, WorkerLostError):
        last = error.output.strip().splitlines()[-1:]
        text = " ".join([text, *last])
    elif not isinstance(error, HloError):
        text = f"{type(error).__name__}: {text}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # A compiler in a process of its own says what is wrong further below.
    told = [line for line in lines if "error: " in line]
    return (told or lines or [type(error).__name__])[0][:_ERROR_SHOWN].replace("|", "/")


def fastest_blas() -> None:
    """Lets OpenBLAS choose its kernels for this processor, in the processes that are started."""
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(name, None)
