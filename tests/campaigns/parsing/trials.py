"""Parses inputs in workers and reports the outcome of each input."""

import itertools
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hlograph import HloParseError
from hlograph.errors import WorkerLostError
from hlograph.isolation import FlightRecorder, Pool
from tests.campaigns.framework.tasks import TaskQueue, noted
from tests.campaigns.parsing.inputs import Input, Inputs

_BATCH = 50
_KINDS = {"timed_out": "timed out", "out_of_memory": "out of memory"}


class Outcome(NamedTuple):
    """Outcome of one input.

    Attributes:
        number: Number of the input.
        kind: Kind of the input.
        verdict: "graph" or "HloParseError", which are good; "died", "timed out", "out of memory" or
            "other error".
        detail: Reason of an outcome that is not good.
        seconds: Time that the input took.
        memory: Largest resident memory of the process so far, in bytes.
    """

    number: int
    kind: str
    verdict: str
    detail: str = ""
    seconds: float = 0.0
    memory: int = 0

    @property
    def is_good(self) -> bool:
        """True for the outcomes that `hlograph.parse` promises."""
        return self.verdict in ("graph", "HloParseError")


def make_worker(
    inputs: Inputs | Sequence[Input],
    parse: Callable[[bytes], object],
    memory: int,
    recorder: FlightRecorder,
) -> Callable[[Sequence[int]], list[Outcome]]:
    """Returns the function that parses inputs in a worker, given their numbers.

    It notes each input's number, and how many the worker has parsed before.

    Args:
        inputs: Inputs by number.
        parse: The parser.
        memory: Bytes of address space that the worker may use, beyond what it begins with.
        recorder: Where each input is noted.
    """
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    before = itertools.count()

    def work(numbers: Sequence[int]) -> list[Outcome]:
        outcomes = []
        for number in numbers:
            given = inputs[number]
            with noted(recorder, f"{number} {next(before)}"):
                outcomes.append(_parse(number, given, parse))
        return outcomes

    return work


def _parse(number: int, given: Input, parse: Callable[[bytes], object]) -> Outcome:
    start, detail = time.perf_counter(), ""
    try:
        parse(given.data)
        verdict = "graph"
    except HloParseError:
        verdict = "HloParseError"
    except BaseException as error:  # the campaign looks for any other exception
        verdict, detail = "other error", repr(error)[:300]
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Outcome(number, given.kind, verdict, detail, seconds, memory)


def outcomes_of(
    numbers: Sequence[int], inputs: Inputs | Sequence[Input], pool: Pool
) -> Iterator[Outcome]:
    """Parses inputs and yields their outcomes, in no particular order.

    What an input that ends its worker had in its batch is parsed again without it.

    Args:
        numbers: Numbers of the inputs.
        inputs: Inputs by number.
        pool: Workers of `make_worker`.
    """
    queue = TaskQueue(numbers[at : at + _BATCH] for at in range(0, len(numbers), _BATCH))
    for batch, answer in queue.run(pool):
        if not isinstance(answer, WorkerLostError):
            yield from answer
            continue
        number, before = map(int, (answer.note or b"%d 0" % batch[0]).split())
        place = batch.index(number)
        for others in (batch[place + 1 :], batch[:place]):
            if others:
                queue.put(others)
        where = f"after {before} others" if before else "in a fresh process"
        verdict = _KINDS.get(answer.kind, "died")
        yield Outcome(number, inputs[number].kind, verdict, f"{answer}, {where}")
