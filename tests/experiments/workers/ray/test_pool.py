"""Workers on Ray do and suffer what processes of this machine do and suffer."""

import importlib
import os
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np
import psutil
import pytest

from experiments.workers.worker import pool_of
from hlograph.errors import (
    HloError,
    HloParseError,
    WorkerCrashedError,
    WorkerKilledError,
    WorkerTimedOutError,
)
from hlograph.isolation import WorkerLimits
from tests.experiments.tiny_run import tiny_config
from tests.experiments.workers.ray.ray_deeds import make_summer
from tests.experiments.workers.ray.ray_setting import nothing_left
from tests.hlograph.isolation.deeds import make_doer

DEEDS = ("tests.hlograph.isolation.deeds",)


@pytest.fixture(scope="module")
def ray_pool(contained):
    """The module, with Ray running; its import takes seconds, so only these tests wait for it."""
    handler = signal.getsignal(signal.SIGTERM)
    before = set(Path(tempfile.gettempdir()).glob("hlograph-ray-*"))
    module = importlib.import_module("experiments.workers.ray.pool")
    with nothing_left(), module.cluster(None, 3):
        assert signal.getsignal(signal.SIGTERM) is handler
        yield module
    assert set(Path(tempfile.gettempdir()).glob("hlograph-ray-*")) == before


@pytest.fixture(scope="module")
def pool(ray_pool):
    with ray_pool.RayPool(make_doer, 2, WorkerLimits(seconds=1.5), DEEDS) as made:
        yield made
        workers = {psutil.Process(pid) for _, pid in made.map(["pid"] * 6)}
        actors = {worker.parent().parent() for worker in workers}
    _, left = psutil.wait_procs([*workers, *actors], timeout=20)
    assert not left
    assert ray_pool.ray.is_initialized()  # it was before


def test_tasks_are_done_by_all_workers(pool):
    found = dict(pool.map(["pid"] * 12))
    assert sorted(found) == list(range(12))
    assert os.getpid() not in found.values()
    # One may be at work before the other has come up.
    assert len(set(found.values()) | {pid for _, pid in pool.map(["pid"] * 12)}) == 2


def test_what_became_of_a_worker_process(pool):
    found = dict(pool.map(["abort", "kill", "hang", "pid", "exit!"]))
    assert {n: type(result) for n, result in found.items()} == {
        0: WorkerCrashedError,
        1: WorkerKilledError,
        2: WorkerTimedOutError,
        3: int,
        4: WorkerCrashedError,
    }
    assert "Check failed: 1 == 2" in found[0].output
    blamed = {n: (found[n].note, found[n].to_blame) for n in (0, 1, 2, 4)}
    assert blamed == {
        0: (b"abort", True),
        1: (b"kill", False),
        2: (b"hang", True),
        4: (None, False),
    }


@pytest.mark.slow
def test_an_actor_that_is_killed_costs_its_task_and_comes_back(pool):
    found = []
    for _, result in pool.map(["pid", *["hang"] * 2, "pid"]):
        if not found:
            psutil.Process(result).parent().parent().kill()  # worker, its fork server, actor
        found.append(result)
    lost = [result for result in found if isinstance(result, WorkerKilledError)]
    assert "the worker or its node was lost" in str(lost[0])
    assert not lost[0].to_blame
    assert sum(isinstance(result, int) for result in found) >= 1
    pids: set[int] = set()
    while len(pids) < 2:  # until it is back
        pids |= {pid for _, pid in pool.map(["pid"] * 2)}


@pytest.mark.slow
def test_a_task_meets_one_of_many_lost_actors_at_most(pool):
    workers: set[int] = set()
    while len(workers) < 2:
        workers |= {pid for _, pid in pool.map(["pid"] * 2)}
    for actor in {psutil.Process(worker).parent().parent() for worker in workers}:
        actor.kill()
    losses = 0
    while isinstance(next(iter(dict(pool.map(["pid"])).values())), WorkerKilledError):
        losses += 1
    assert losses <= 1


def test_exceptions_come_through(pool):
    with pytest.raises(HloParseError, match="error: no") as raised:
        list(pool.map(["refuse"]))
    assert raised.value.line == 3
    assert "in a worker process" in raised.value.__notes__[0]
    with pytest.raises(HloError, match="lost on the way"):
        list(pool.map(["unpicklable"]))


def test_a_pool_goes_on_after_a_map_that_was_left(pool):
    for _ in pool.map(["pid", "hang", "hang"]):
        break
    # What was under way does not turn up here.
    found = dict(pool.map(["pid"] * 3))
    assert sorted(found) == [0, 1, 2]


@pytest.fixture(scope="module")
def summer(ray_pool):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HLOGRAPH_CORPUS", "s3://bucket/datasets")
        pool = ray_pool.RayPool(make_summer, 1, None, ("tests.experiments.workers.ray.ray_deeds",))
    with pool:
        yield pool


def test_workers_look_for_the_corpus_where_the_run_does(summer):
    assert list(summer.map(["corpus"])) == [(0, "s3://bucket/datasets")]


def test_arrays_that_tasks_share_are_stored_once(summer, ray_pool, monkeypatch):
    stored = []
    put = ray_pool.ray.put
    monkeypatch.setattr(ray_pool.ray, "put", lambda value: stored.append(value) or put(value))
    shared = {"weights": np.arange(200_000.0), "bias": np.float32([1, 2])}
    other = {"weights": np.arange(5)}
    found = dict(summer.map([shared, shared, shared, other]))
    assert len(stored) == 2
    for number, task in enumerate([shared, shared, shared, other]):
        assert found[number].keys() == task.keys()
        for name, array in task.items():
            assert found[number][name].dtype == array.dtype
            np.testing.assert_array_equal(found[number][name], array)


def test_a_pool_has_workers(ray_pool):
    with pytest.raises(ValueError, match="at least 1 worker, got 0"):
        ray_pool.RayPool(make_doer, 0)


def test_without_ray_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    for name in ("experiments.workers.ray.pool", "experiments.workers.ray.cluster"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(HloError, match=r"pip install 'hlograph\[ray\]'"):
        pool_of(tiny_config(workers="ray"))
