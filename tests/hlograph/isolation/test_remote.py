"""Objects in a worker process: calls, exceptions, and what ends the process."""

import os
import signal
import time
from functools import partial

import pytest

from hlograph import HloError
from hlograph.errors import WorkerCrashedError, WorkerTimedOutError
from hlograph.isolation import FlightRecorder, Remote, WorkerLimits


class Counter:
    """Counts calls in its process."""

    def __init__(self, start: int, recorder: FlightRecorder) -> None:
        self.count, self.recorder = start, recorder

    def add(self, number: int, *, times: int = 1) -> tuple[int, int]:
        self.count += number * times
        return self.count, os.getpid()

    def refuse(self, reason: str) -> None:
        raise HloError(reason)

    def crash(self) -> None:
        with self.recorder.noted(b"crashing"):
            os.kill(os.getpid(), signal.SIGSEGV)

    def hang(self) -> None:
        with self.recorder.noted(b"hanging"):
            time.sleep(60)


@pytest.fixture
def counter():
    remote = Remote(partial(Counter, 10), WorkerLimits(seconds=0.5))
    yield remote
    remote.close()


def test_an_object_lives_in_another_process_and_keeps_its_state(counter):
    first, pid = counter.call(Counter.add, 1)
    second, again = counter.call(Counter.add, 2, times=3)
    assert (first, second) == (11, 17)
    assert pid == again != os.getpid()


def test_an_exception_of_a_method_leaves_the_object_as_it_is(counter):
    counter.call(Counter.add, 1)
    with pytest.raises(HloError, match="not today") as raised:
        counter.call(Counter.refuse, "not today")
    assert any("refuse" in note for note in raised.value.__notes__)
    assert counter.call(Counter.add, 0)[0] == 11


@pytest.mark.parametrize(
    ("method", "error", "note"),
    [
        (Counter.crash, WorkerCrashedError, b"crashing"),
        (Counter.hang, WorkerTimedOutError, b"hanging"),
    ],
)
def test_a_lost_process_is_replaced_with_a_new_object(counter, method, error, note):
    _, before = counter.call(Counter.add, 1)
    with pytest.raises(error) as lost:
        counter.call(method)
    assert lost.value.note == note
    count, after = counter.call(Counter.add, 1)
    assert count == 11
    assert after != before


def test_the_process_ends_with_its_object():
    remote = Remote(partial(Counter, 0), WorkerLimits())
    _, pid = remote.call(Counter.add, 1)
    del remote
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the process goes on")
