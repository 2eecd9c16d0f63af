"""Parses inputs in forked processes and says what became of each, whatever they do to them."""

from __future__ import annotations

import os
import pickle
import resource
import selectors
import signal
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import hlograph
from hlograph import HloParseError
from hlograph._native import native
from hlograph.reading.isolated_parser import IsolatedParser, use_parser
from tests.campaigns.parsing.inputs import Input, Inputs

_BATCH = 400
_KEEPS_ON = 20  # every twentieth batch goes on after an abort
_LENGTH = struct.Struct("<I")
_KIB = 1024


class Limits(NamedTuple):
    """What an input may take.

    Attributes:
        seconds: Wall-clock time of one input.
        memory: Bytes of address space of a process beyond what it begins with.
    """

    seconds: float
    memory: int


class Outcome(NamedTuple):
    """What became of one input.

    Attributes:
        number: Of the input.
        kind: Of the input.
        what: "graph" or "HloParseError", which are good; "died", "timed out" or "other error".
        detail: Why, of what is not good.
        aborted: Whether XLA aborted in the process, which went on.
        seconds: How long it took.
        memory: Bytes that the process has taken at most until then (resident).
    """

    number: int
    kind: str
    what: str
    detail: str = ""
    aborted: bool = False
    seconds: float = 0.0
    memory: int = 0

    @property
    def is_good(self) -> bool:
        """Whether it is what ``hlograph.parse`` promises."""
        return self.what in ("graph", "HloParseError")


class Trials:
    """Runs batches of inputs in processes forked from this one, some at a time.

    This process must have no other threads.

    Args:
        inputs: Where the inputs come from.
        limits: What an input may take.
        workers: Processes at a time.
    """

    def __init__(self, inputs: Inputs, limits: Limits, workers: int) -> None:
        native()
        self._lanes = [_Lane(inputs, limits) for _ in range(workers)]

    def run(self, numbers: Sequence[int]) -> Iterator[Outcome]:
        """Parses inputs and yields what became of each, in no particular order."""
        batches = [numbers[at : at + _BATCH] for at in range(0, len(numbers), _BATCH)]
        waiting = list(enumerate(batches))[::-1]
        with selectors.DefaultSelector() as selector:
            idle = list(self._lanes)
            while waiting or selector.get_map():
                while idle and waiting:
                    lane = idle.pop()
                    lane.begin(*waiting.pop())
                    selector.register(lane.answers, selectors.EVENT_READ, lane)
                for key, _ in selector.select():
                    lane = key.data
                    yield from lane.read()
                    if not lane.has_ended:
                        continue
                    selector.unregister(lane.answers)
                    yield from lane.end()
                    if lane.rest:
                        waiting.append((lane.batch, lane.rest))
                    idle.append(lane)
        for lane in self._lanes:
            lane.close()


class _Lane:
    """One process at a time, and the server that parses for it what it might not survive."""

    def __init__(self, inputs: Inputs, limits: Limits) -> None:
        self._inputs, self._limits = inputs, limits
        self._server = IsolatedParser()
        self.batch = 0
        self.rest: Sequence[int] = ()

    def begin(self, batch: int, numbers: Sequence[int]) -> None:
        """Has a new process parse inputs."""
        self.batch, self.rest = batch, numbers
        self.has_ended = False
        self._first = numbers[0]
        self._received = b""
        self._server.start()
        self.answers, write = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            try:
                use_parser(self._server)
                _be_process(self._inputs, numbers, self._limits, batch % _KEEPS_ON == 0, write)
            finally:
                os._exit(1)
        os.close(write)

    def read(self) -> Iterator[Outcome]:
        """Reads what there is of the outcomes; at the end ``has_ended`` is true."""
        part = os.read(self.answers, 1 << 16)
        self.has_ended = not part
        self._received += part
        while len(self._received) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._received)
            end = _LENGTH.size + length
            if len(self._received) < end:
                return
            yield pickle.loads(self._received[_LENGTH.size : end])
            self._received = self._received[end:]
            self.rest = self.rest[1:]

    def end(self) -> Iterator[Outcome]:
        """Buries the process; yields the outcome of the input that ended it, if one did."""
        os.close(self.answers)
        status = os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])
        if status == 0:
            return
        self._server.stop()  # which may be in the middle of a request
        number, self.rest = self.rest[0], self.rest[1:]
        kind = self._inputs[number].kind
        if status == -signal.SIGALRM:
            yield Outcome(number, kind, "timed out", f"after {self._limits.seconds:g} s")
        else:
            how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
            before = number - self._first
            where = f"after {before} others" if before else "in a fresh process"
            yield Outcome(number, kind, "died", f"{how}, {where}")

    def close(self) -> None:
        """Ends the server."""
        self._server.stop()


def _be_process(
    inputs: Inputs, numbers: Sequence[int], limits: Limits, keeps_on: bool, answers: int
) -> None:
    """Parses inputs, writes what became of them, and ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # XLA says much as it aborts
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + limits.memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in numbers:
        signal.setitimer(signal.ITIMER_REAL, limits.seconds)  # whose default is to end it
        outcome = _parse(number, inputs[number])
        payload = pickle.dumps(outcome)
        os.write(answers, _LENGTH.pack(len(payload)) + payload)
        if outcome.aborted and not keeps_on:
            break
    os._exit(0)


def _parse(number: int, given: Input) -> Outcome:
    aborted_before = native().was_aborted()
    start = time.perf_counter()
    detail = ""
    try:
        hlograph.parse(given.data)
        what = "graph"
    except HloParseError:
        what = "HloParseError"
    except BaseException as error:  # anything else is what is looked for
        what, detail = "other error", repr(error)[:300]
    return Outcome(
        number,
        given.kind,
        what,
        detail,
        aborted=native().was_aborted() and not aborted_before,
        seconds=time.perf_counter() - start,
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB,
    )
