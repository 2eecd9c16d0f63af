"""A Ray cluster of two nodes: training, and reports of one worker on each, outlive a lost node."""

import importlib
import json
import threading
import time

import pytest

from experiments.train.program import FAILED, train
from experiments.workers.run_events import EVENTS
from hlograph.errors import HloError, HloParseError, WorkerKilledError
from hlograph.isolation import WorkerLimits
from hlograph.storage.machine import machine
from tests.experiments.tiny_run import results, same_policies, tiny_config
from tests.experiments.workers.ray.ray_deeds import reporter
from tests.experiments.workers.ray.two_nodes import NODE, one_node
from tests.hlograph.isolation.deeds import make_doer


@pytest.fixture(scope="module")
def cluster(contained):
    """A cluster of one node."""
    with one_node(node_name="head") as made:
        yield made


@pytest.fixture
def node(cluster):
    """A second node, which is there when a test begins."""
    made = cluster.add_node(**NODE)
    yield made
    if made in cluster.worker_nodes:
        cluster.remove_node(made)


def _kill(cluster, node):
    cluster.remove_node(node, allow_graceful=False)


def _events(folder):
    return [json.loads(line) for line in (folder / EVENTS).read_text().splitlines()]


def test_a_node_lost_while_training_changes_nothing(finished, tmp_path, cluster, node):
    folder = tmp_path / "run"
    status = []

    def kill_after_the_first_iteration():
        while not (folder / "gnn" / "checkpoint.pt").exists() and not status:
            time.sleep(0.01)
        _kill(cluster, node)

    killer = threading.Thread(target=kill_after_the_first_iteration)
    killer.start()
    config = tiny_config(out=folder, workers="ray", ray_address=cluster.address)
    status.append(train(config))
    killer.join()
    assert status == [0]
    assert {event["event"] for event in _events(folder)} == {"killed"}
    assert same_policies(finished, folder)
    assert results(finished) == results(folder)


@pytest.mark.slow
def test_a_worker_of_a_lost_node_comes_back_on_a_new_one(cluster, node):
    ray_pool = importlib.import_module("experiments.workers.ray.pool")
    limits = WorkerLimits(seconds=60)
    with ray_pool.RayPool(make_doer, None, limits, (), cluster.address) as pool:
        nodes = ray_pool.ray.nodes
        assert sum(found["Alive"] for found in nodes()) == 2
        while len({pid for _, pid in pool.map(["pid"] * 4)}) < 2:
            pass  # until both are up
        _kill(cluster, node)
        done = []
        while not any(isinstance(result, WorkerKilledError) for result in done):
            done += [result for _, result in pool.map(["pid"] * 2)]
        added = cluster.add_node(**NODE)
        while len({pid for _, pid in pool.map(["pid"] * 4)}) < 2:
            pass
        cluster.remove_node(added)


def test_without_a_free_cpu_it_does_not_wait_for_ever(cluster):
    ray_pool = importlib.import_module("experiments.workers.ray.pool")
    arguments = (make_doer, 1, WorkerLimits(), (), cluster.address)
    with ray_pool.RayPool(*arguments) as pool, ray_pool.RayPool(*arguments, patience=0.5) as other:
        assert len(list(pool.map(["pid"]))) == 1
        with pytest.raises(HloError, match=r"no worker for 0\.5 s.* 1 in all, and 0 free"):
            list(other.map(["pid"]))


def test_a_run_without_its_cluster_is_told_so(tmp_path, capsys):
    folder = tmp_path / "run"
    config = tiny_config(out=folder, workers="ray", ray_address="127.0.0.1:1")
    assert train(config) == FAILED
    said = capsys.readouterr().err
    assert "there is no Ray cluster at '127.0.0.1:1'" in said
    assert "ConnectionRefusedError" in said
    assert f"--resume {folder}" in said


@pytest.fixture(scope="module")
def make_pool(cluster):
    module = importlib.import_module("experiments.workers.ray.nodes")
    return lambda patience=600.0: module.NodePool(reporter, cluster.address, patience)


def _until(pool, wanted):
    """Returns the reports until there are some, by the names of nodes."""
    found = {}
    while not wanted(found):
        for node, report in pool.reports():
            found.setdefault(node.name, []).append(report)
    return found


def _until_ready(pool, *names):
    while {node.name for node in pool.idle} != set(names):
        list(pool.reports())


def _give(pool, name, task):
    pool.give(next(node for node in pool.idle if node.name == name), task)


def test_nodes_report_side_by_side_and_a_lost_one_is_left_out(cluster, make_pool):
    other = cluster.add_node(**NODE, node_name="other")
    with make_pool() as pool:
        _until_ready(pool, "head", "other")
        assert {node.machine for node in pool.nodes} == {machine()}
        _give(pool, "other", "hang")
        _give(pool, "head", "one")
        assert pool.idle == []
        found = _until(pool, lambda found: sum(map(len, found.values())) == 4)
        assert found["head"][1] == "one"
        assert found["other"][1] == "hang"
        assert found["head"][0] != found["other"][0]
        cluster.remove_node(other, allow_graceful=False)
        (lost,) = _until(pool, lambda found: "other" in found)["other"]
        assert isinstance(lost, WorkerKilledError)
        assert "other was lost" in str(lost)
        _until_ready(pool, "head")


def test_a_node_whose_worker_dies_gets_a_new_one(make_pool):
    with make_pool() as pool:
        _until_ready(pool, "head")
        _give(pool, "head", "die")
        _until(pool, lambda found: isinstance(found.get("head", [0])[-1], WorkerKilledError))
        _until_ready(pool, "head")
        _give(pool, "head", "refuse")
        with pytest.raises(HloParseError, match="no"):
            _until(pool, lambda found: False)


def test_it_does_not_wait_for_ever(make_pool):
    with make_pool() as pool:
        _until_ready(pool, "head")
        with (
            make_pool(patience=1.5) as other,
            pytest.raises(
                HloError, match=r"can do what is left; nodes that are not free: 1 .*add a node"
            ),
        ):
            _until(other, lambda found: found)
