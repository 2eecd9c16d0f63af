"""Tests what counts as load, on recorded readings and on files such as Linux has."""

import os
import threading

import numpy as np
import pytest

from hlograph.execution.load import CpuTimes, LoadMeter, Reading, cpu_quota, loads_of, on_one_cpu

MS = 1_000_000


def _load(ran, waited, cpus=2, throttled=0, later_cpus=None):
    """Returns the load of 10 ms in which threads ran and waited for so many."""
    before = Reading(5 * MS, 7 * MS, 9 * MS, 0, cpus)
    after = Reading(15 * MS, (7 + ran) * MS, (9 + waited) * MS, throttled * MS, later_cpus or cpus)
    return before.load_until(after)


@pytest.mark.parametrize(
    ("ran", "waited", "load"),
    [
        (10, 0, 0.0),
        (0, 0, 0.0),
        (20, 30, 0.0),  # both CPUs ran threads of the process: they waited for each other
        (10, 10, 0.5),  # another program had one of two CPUs
        (10, 40, 0.5),  # of which it had no more
        (15, 5, 0.25),
        (9, 1, 0.1),
    ],
)
def test_load_is_the_share_that_others_took(ran, waited, load):
    assert _load(ran, waited) == pytest.approx(load)


def test_threads_on_one_cpu_wait_for_each_other_without_load():
    assert _load(10, 10, cpus=1) == 0.0
    assert _load(5, 10, cpus=1) == 0.5


def test_throttling_and_other_cpus_are_load():
    assert _load(5, 0, throttled=5) == 0.5
    assert _load(10, 0, later_cpus=1) == 1.0


@pytest.mark.parametrize(
    ("idle", "load"),
    [
        (None, 0.25),
        (0, 0.25),  # another program had all that was left
        (3, 2 / 17),
        (5, 0.0),  # threads waited for each other beside an idle CPU
        (7, 0.0),  # idle time is counted in steps
    ],
)
def test_waits_are_load_as_far_as_others_ran(idle, load):
    before = Reading(5 * MS, 7 * MS, 9 * MS, 0, 2, None if idle is None else 40 * MS)
    after = Reading(15 * MS, 22 * MS, 14 * MS, 0, 2, None if idle is None else (40 + idle) * MS)
    assert before.load_until(after) == pytest.approx(load)


def test_the_time_of_others_is_taken_over_all_spans():
    # The steps of the system's count are longer than a span.
    spans = [CpuTimes(15, 5, 0, others) for others in (10, -9, 1, -2)] + [CpuTimes(20, 0, 0, 5)]
    assert loads_of(spans) == pytest.approx([1.25 / 16.25] * 4 + [0])
    assert loads_of([spans[:2], spans[2:4]]) == pytest.approx(np.zeros((2, 2)))


def _process(folder, delays, groups="0::/\n"):
    for number, delay in enumerate(delays):
        thread = folder / "task" / str(number)
        thread.mkdir(parents=True)
        (thread / "schedstat").write_text(f"123 {delay} 7\n")
    (folder / "cgroup").write_text(groups)
    return folder


def test_delays_are_those_of_all_threads(tmp_path):
    meter = LoadMeter(_process(tmp_path, [5, 6, 7]), tmp_path / "none")
    reading = meter()
    assert (reading.waited, reading.throttled) == (18, 0)
    assert reading.cpus == len(os.sched_getaffinity(0))
    (tmp_path / "task" / "1" / "schedstat").unlink()  # a thread that has ended
    assert meter().waited == 12


def test_a_kernel_without_delays_counts_how_often_threads_made_room(tmp_path, monkeypatch):
    switches = iter([2, 5])
    monkeypatch.setattr(
        "resource.getrusage", lambda who: type("Usage", (), {"ru_nivcsw": next(switches)})
    )
    meter = LoadMeter(_process(tmp_path, []), tmp_path / "none")
    first, second = meter(), meter()
    assert second.waited - first.waited == 9 * MS


@pytest.mark.parametrize(
    ("text", "idle"),
    [
        ("cpu  9 9 9 9 9 9\ncpu0 1 2 3 40 5 6 7\ncpu2 0 0 0 2 1 0 0\nintr 5\n", 48),
        ("cpu  9 9 9 9 9 9\ncpu0 1 2 3 40 5 6 7\ncpu1 0 0 0 2 1 0 0\nintr 5\n", None),  # of a host
        ("cpu0 1 2\ncpu2 1 2\n", None),
        (None, None),
    ],
)
def test_idle_time_is_that_of_the_cpus_that_the_process_may_use(text, idle, tmp_path, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda thread: {0, 2})
    monkeypatch.setattr("os.sysconf", {"SC_CLK_TCK": 100}.__getitem__)
    if text is not None:
        (tmp_path / "stat").write_text(text)
    meter = LoadMeter(_process(tmp_path, [1]), tmp_path / "none", tmp_path / "stat")
    assert meter().idle == (None if idle is None else idle * 10 * MS)


@pytest.mark.parametrize(
    ("groups", "file", "text"),
    [
        ("0::/a/b\n", "a/b/cpu.stat", "usage_usec 1\nthrottled_usec 3\n"),
        ("0::/a/b\n", "cpu.stat", "usage_usec 1\nthrottled_usec 3\n"),  # of a container
        ("2:memory:/x\n1:cpu,cpuacct:/a\n0::/\n", "cpu,cpuacct/a/cpu.stat", "throttled_time 3000"),
    ],
)
def test_throttling_of_both_versions_of_control_groups(groups, file, text, tmp_path):
    path = tmp_path / "groups" / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert LoadMeter(_process(tmp_path, [1], groups), tmp_path / "groups")().throttled == 3000


def test_this_process_can_be_read():
    meter = LoadMeter()
    first = meter()
    assert 0.0 <= first.load_until(meter()) <= 1.0


def test_all_threads_are_bound_to_one_cpu_within_the_block():
    allowed = os.sched_getaffinity(0)
    ended = threading.Event()
    started: list[threading.Thread] = [threading.Thread(target=ended.wait)]
    started[0].start()
    try:
        with on_one_cpu():
            started.append(threading.Thread(target=ended.wait))
            started[1].start()
            bound = [os.sched_getaffinity(thread.native_id or 0) for thread in started]
            bound.append(os.sched_getaffinity(0))
        assert bound == [{max(allowed)}] * 3
        after = [os.sched_getaffinity(thread.native_id or 0) for thread in started]
        assert [*after, os.sched_getaffinity(0)] == [allowed] * 3
    finally:
        ended.set()
        for thread in started:
            thread.join()


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.cfs_quota_us": "50000\n", "cpu.cfs_period_us": "100000\n"}, 0.5),
        ({"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"}, None),
        ({}, None),
    ],
)
def test_the_quota_of_a_control_group(files, quota, tmp_path):
    group = tmp_path / "groups"
    group.mkdir()
    for name, text in ({"cpu.stat": "throttled_usec 0\n"} | files).items():
        (group / name).write_text(text)
    assert cpu_quota(_process(tmp_path / "process", [1]), group) == quota
    assert cpu_quota(tmp_path / "process", tmp_path / "none") is None
