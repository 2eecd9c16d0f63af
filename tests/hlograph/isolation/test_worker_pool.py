"""Whatever a worker does, the pool reports the cause of its loss and finishes the other tasks."""

import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import psutil
import pytest

from hlograph.errors import (
    HloError,
    HloParseError,
    WorkerCrashedError,
    WorkerKilledError,
    WorkerLostError,
    WorkerOutOfMemoryError,
    WorkerTimedOutError,
)
from hlograph.isolation import InProcessPool, WorkerLimits, WorkerPool, make_pool
from hlograph.isolation.limits import vitals
from tests.hlograph.isolation.deeds import (
    LONG,
    begin_for_long,
    make_doer,
    mark,
    mark_and_exit_once,
    refuse,
)

ROOT = Path(__file__).parents[3]


@pytest.fixture
def pool():
    limits = WorkerLimits(seconds=30, stopped_seconds=0.3, memory=1 << 30)
    with WorkerPool(make_doer, 1, limits) as made:
        yield made


def _only(pool, task):
    ((_, result),) = pool.map([task])
    return result


@pytest.mark.parametrize(
    ("deed", "error", "blamed", "message"),
    [
        ("abort", WorkerCrashedError, True, "SIGABRT"),
        ("segfault", WorkerCrashedError, True, "SIGSEGV"),
        ("exit", WorkerCrashedError, True, "status 3"),
        ("bloat", WorkerOutOfMemoryError, True, "limit is 1.0"),
        ("kill", WorkerKilledError, False, "SIGKILL"),
        ("stop", WorkerTimedOutError, False, "stopped"),
    ],
)
def test_what_became_of_a_worker(pool, deed, error, blamed, message):
    before = _only(pool, "pid")
    lost = _only(pool, deed)
    assert type(lost) is error
    assert message in str(lost)
    assert (lost.note, lost.to_blame) == (deed.encode(), blamed)
    assert lost.seconds >= 0
    after = _only(pool, "pid")
    assert isinstance(after, int)
    assert after != before


def test_an_operation_has_a_time_limit():
    with WorkerPool(make_doer, 1, WorkerLimits(seconds=0.3)) as pool:
        lost = _only(pool, "hang")
        assert type(lost) is WorkerTimedOutError
        assert lost.to_blame
        assert lost.seconds >= 0.3
        assert isinstance(_only(pool, "pid"), int)


def test_a_worker_has_to_show_signs_of_life():
    with WorkerPool(make_doer, 1, WorkerLimits(idle_seconds=0.3)) as pool:
        lost = _only(pool, "hang!")
    assert type(lost) is WorkerTimedOutError
    assert lost.note is None
    assert not lost.to_blame


def test_last_words_are_kept(pool):
    assert "Check failed: 1 == 2" in _only(pool, "abort").output


def test_nothing_is_blamed_for_an_abort_outside_an_operation(pool):
    lost = _only(pool, "abort!")
    assert type(lost) is WorkerCrashedError
    assert not lost.to_blame


def test_lost_tasks_cost_themselves_alone():
    tasks = ["pid", "abort", "pid", "kill", "pid", "segfault", "pid", "exit", "pid"]
    with WorkerPool(make_doer, 2) as pool:
        found = dict(pool.map(tasks))
    assert sorted(found) == list(range(len(tasks)))
    for number, task in enumerate(tasks):
        assert isinstance(found[number], int if task == "pid" else WorkerLostError), task


def test_tasks_are_taken_one_by_one(pool):
    seen = []

    def tasks():
        for _ in range(3):
            seen.append(len(seen))
            yield "pid"

    for number, _ in pool.map(tasks()):
        assert len(seen) == number + 1


def test_exceptions_come_through(pool):
    with pytest.raises(HloParseError, match="error: no") as raised:
        _only(pool, "refuse")
    assert raised.value.line == 3
    assert "in a worker process" in raised.value.__notes__[0]
    with pytest.raises(HloError, match="lost on the way"):
        _only(pool, "unpicklable")
    assert isinstance(_only(pool, "pid"), int)


def test_a_pool_goes_on_after_a_map_that_was_left(pool):
    for _ in pool.map(["pid", "hang", "pid"]):
        break
    assert isinstance(_only(pool, "pid"), int)


@pytest.mark.parametrize("step", ["_hand_out", "_next_result"])
def test_a_ctrl_c_just_after_a_step_ends_the_map(pool, step, monkeypatch):
    """The signal may come when a task is handed out, or a result taken, and not yet counted."""
    done = getattr(pool, step)

    def interrupted(*arguments):
        done(*arguments)
        raise KeyboardInterrupt

    tasks = ["hang", "pid"] if step == "_hand_out" else ["pid", "pid"]
    with monkeypatch.context() as patched:
        patched.setattr(pool, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            list(pool.map(tasks))
    assert isinstance(_only(pool, "pid"), int)


def test_ctrl_c_is_not_for_workers(pool):
    assert _only(pool, "interrupt") is None


def test_processes_end_with_the_pool():
    with WorkerPool(make_doer, 2) as pool:
        pids = [pid for _, pid in pool.map(["pid"] * 6)]
    assert _have_ended(pids)


def test_processes_end_with_a_pool_that_is_killed():
    code = (
        "from hlograph.isolation import WorkerPool\n"
        "from tests.hlograph.isolation.deeds import make_doer\n"
        "pool = WorkerPool(make_doer, 2)\n"
        "for _, pid in pool.map(['pid', 'pid']): pass\n"
        "print(*pool.pids, flush=True)\n"
        "for _ in pool.map(['hang', 'hang']): pass\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    with process.stdout:
        pids = [int(word) for word in process.stdout.readline().split()]
    assert pids
    assert all(psutil.pid_exists(pid) for pid in pids)
    process.kill()
    process.wait()
    assert _have_ended(pids)


def test_workers_begin_before_there_is_a_task(tmp_path):
    with WorkerPool(partial(mark, tmp_path), 1, ahead=True) as pool:
        while not list(tmp_path.iterdir()):
            time.sleep(0.01)
        (marked,) = tmp_path.iterdir()
        assert list(pool.map(["pid", "pid"])) == [(0, int(marked.name)), (1, int(marked.name))]


def test_the_first_task_has_the_exception_of_a_worker_that_began_before_it():
    with WorkerPool(refuse, 1, ahead=True) as pool, pytest.raises(HloParseError):
        list(pool.map(["pid"]))


def test_what_cannot_be_sent_to_a_worker_that_begins_before_its_first_task_is_an_error():
    with (
        WorkerPool(lambda recorder: str, 1, ahead=True) as pool,
        pytest.raises((AttributeError, pickle.PicklingError)),
    ):
        list(pool.map(["pid"]))


def test_a_worker_that_dies_before_its_first_task_costs_that_task(tmp_path):
    with WorkerPool(partial(mark_and_exit_once, tmp_path), 1, ahead=True) as pool:
        ((_, lost), (_, pid)) = pool.map(["pid", "pid"])
        assert isinstance(lost, WorkerCrashedError)
        assert lost.note == b"beginning"
        assert isinstance(pid, int)


def test_a_worker_that_is_still_beginning_ends_with_the_pool():
    begun = time.monotonic()
    with WorkerPool(begin_for_long, 1, ahead=True) as pool:
        while not pool.pids:
            time.sleep(0.01)
        pids = pool.pids
    assert _have_ended(pids)
    assert time.monotonic() - begun < LONG


def test_a_task_that_another_thread_waits_for_is_lost_with_the_pool():
    pool = WorkerPool(make_doer, 1)
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(lambda: list(pool.map(["hang"])))
        while not pool.pids:
            time.sleep(0.01)
        pool.close()
        ((number, lost),) = waiting.result(timeout=30)
    assert number == 0
    assert isinstance(lost, WorkerLostError)


def test_a_closed_pool_loses_all_tasks():
    pool = WorkerPool(make_doer, 1)
    pool.close()
    for number, lost in pool.map(["one", "two"]):
        assert number in (0, 1)
        assert isinstance(lost, WorkerLostError)
        assert "closed" in str(lost)


def test_in_process():
    with make_pool(make_doer, 0) as pool:
        assert isinstance(pool, InProcessPool)
        assert list(pool.map(["pid", "pid"])) == [(0, os.getpid()), (1, os.getpid())]
        with pytest.raises(HloParseError):
            list(pool.map(["refuse"]))


def test_a_pool_has_workers():
    with pytest.raises(ValueError, match="at least 1 worker"):
        WorkerPool(make_doer, -1)


def test_vitals():
    found = vitals(os.getpid())
    assert found is not None
    assert not found.stopped
    assert found.memory == pytest.approx(psutil.Process().memory_info().rss, rel=0.2)
    child = subprocess.Popen(["sleep", "60"])
    child.send_signal(signal.SIGSTOP)
    while not (stopped := vitals(child.pid)) or not stopped.stopped:
        time.sleep(0.01)
    child.kill()
    child.wait()
    assert vitals(child.pid) is None


def _have_ended(pids):
    """Returns True if the processes end within 20 s."""
    for _ in range(400):
        if not any(psutil.pid_exists(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False
