"""Parses inputs in forked processes and reports the outcome of each input."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import time
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import NamedTuple

import hlograph
from hlograph import HloParseError
from hlograph._native import native
from hlograph.reading.isolated_parser import IsolatedParser, use_parser
from tests.campaigns.parsing.inputs import Input, Inputs

_FORK = multiprocessing.get_context("fork")
_BATCH = 400


class InputLimits(NamedTuple):
    """Resources that one input may use.

    Attributes:
        seconds: Wall-clock time of one input.
        memory: Bytes of address space of a process, beyond what it begins with.
    """

    seconds: float
    memory: int


class Outcome(NamedTuple):
    """Outcome of one input.

    Attributes:
        number: Number of the input.
        kind: Kind of the input.
        what: "graph" or "HloParseError", which are good; "died", "timed out" or "other error".
        detail: Reason of an outcome that is not good.
        seconds: Time that the input took.
        memory: Largest resident memory of the process so far, in bytes.
    """

    number: int
    kind: str
    what: str
    detail: str = ""
    seconds: float = 0.0
    memory: int = 0

    @property
    def is_good(self) -> bool:
        """True for the outcomes that `hlograph.parse` promises."""
        return self.what in ("graph", "HloParseError")


class Trials:
    """Runs batches of inputs in processes that are forked from this one.

    This process must have no other threads.

    Args:
        inputs: Inputs by number.
        limits: Resources that one input may use.
        workers: Number of processes at a time.
    """

    def __init__(self, inputs: Inputs | Sequence[Input], limits: InputLimits, workers: int) -> None:
        native()
        self._lanes = [_Lane(inputs, limits) for _ in range(workers)]

    def run(self, numbers: Sequence[int]) -> Iterator[Outcome]:
        """Parses inputs and yields their outcomes, in no particular order."""
        batches = [numbers[at : at + _BATCH] for at in range(0, len(numbers), _BATCH)]
        waiting = deque(enumerate(batches))
        idle, busy = list(self._lanes), list[_Lane]()
        try:
            while waiting or busy:
                while idle and waiting:
                    busy.append(idle.pop())
                    busy[-1].begin(*waiting.popleft())
                ready = wait([lane.outcomes for lane in busy])
                for lane in [lane for lane in busy if lane.outcomes in ready]:
                    outcome = lane.read()
                    if outcome is not None:
                        yield outcome
                    if lane.has_ended:
                        busy.remove(lane)
                        idle.append(lane)
                        if lane.rest:
                            waiting.appendleft((lane.batch, lane.rest))
        finally:
            for lane in self._lanes:
                lane.close()


class _Lane:
    """One process at a time, and the server that parses what the process may not survive."""

    def __init__(self, inputs: Inputs | Sequence[Input], limits: InputLimits) -> None:
        self._inputs, self._limits = inputs, limits
        self._server = IsolatedParser()
        self._process: ForkProcess | None = None
        self.batch = 0
        self.rest: Sequence[int] = ()
        self.has_ended = True

    def begin(self, batch: int, numbers: Sequence[int]) -> None:
        """Starts a process for a batch, which sends outcomes to the connection `outcomes`."""
        self.batch, self.rest, self.has_ended = batch, numbers, False
        self._first = numbers[0]
        self._server.start()
        self.outcomes, theirs = _FORK.Pipe(duplex=False)
        arguments = (self._inputs, numbers, self._limits, self._server, theirs)
        process = _FORK.Process(target=_parse_batch, args=arguments, daemon=True)
        process.start()
        theirs.close()
        self._process = process

    def read(self) -> Outcome | None:
        """Returns the next outcome; None if the process ended after its last input."""
        try:
            outcome = self.outcomes.recv()
        except (EOFError, OSError):
            self.outcomes.close()
            self.has_ended = True
            status = self._end()
            return self._lost(status) if status else None
        self.rest = self.rest[1:]
        return outcome

    def close(self) -> None:
        """Ends the process and the server."""
        if self._process is not None:
            self._process.kill()
            self._end()
        self._server.stop()

    def _end(self) -> int | None:
        """Waits for the end of the process and returns its exit status."""
        assert self._process is not None
        self._process.join()
        status, self._process = self._process.exitcode, None
        return status

    def _lost(self, status: int) -> Outcome:
        """Returns the outcome of the input that ended the process."""
        self._server.stop()  # it may be in the middle of a request
        number, self.rest = self.rest[0], self.rest[1:]
        kind = self._inputs[number].kind
        if status == -signal.SIGALRM:
            return Outcome(number, kind, "timed out", f"after {self._limits.seconds:g} s")
        cause = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        before = number - self._first
        where = f"after {before} others" if before else "in a fresh process"
        return Outcome(number, kind, "died", f"{cause}, {where}")


def _parse_batch(
    inputs: Inputs | Sequence[Input],
    numbers: Sequence[int],
    limits: InputLimits,
    server: IsolatedParser,
    outcomes: Connection,
) -> None:
    """Parses inputs in a forked process and sends their outcomes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the campaign's process
    use_parser(server)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # XLA writes long messages when it aborts
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + limits.memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in numbers:
        signal.setitimer(signal.ITIMER_REAL, limits.seconds)  # its signal ends the process
        outcome = _parse(number, inputs[number])
        outcomes.send(outcome)
    signal.setitimer(signal.ITIMER_REAL, 0)


def _parse(number: int, given: Input) -> Outcome:
    start = time.perf_counter()
    detail = ""
    try:
        hlograph.parse(given.data)
        what = "graph"
    except HloParseError:
        what = "HloParseError"
    except BaseException as error:  # the campaign looks for any other exception
        what, detail = "other error", repr(error)[:300]
    return Outcome(
        number,
        given.kind,
        what,
        detail,
        seconds=time.perf_counter() - start,
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )
