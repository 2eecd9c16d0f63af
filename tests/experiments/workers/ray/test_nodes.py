"""Training on a Ray cluster of two nodes goes on when one of them is lost."""

import importlib
import json
import threading
import time

import pytest

from experiments.training.program import FAILED, train
from experiments.workers.run_events import EVENTS
from hlograph.errors import HloError, WorkerKilledError
from hlograph.isolation import Limits
from tests.experiments.tiny_run import results, same_policies, tiny_config
from tests.experiments.workers.ray.two_nodes import NODE, one_node
from tests.hlograph.isolation.deeds import make_doer


@pytest.fixture(scope="module")
def cluster(contained):
    """A cluster of one node."""
    with one_node() as made:
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
    status.append(train(config, "train_gnn"))
    killer.join()
    assert status == [0]
    assert {event["event"] for event in _events(folder)} == {"killed"}
    assert same_policies(finished, folder)
    assert results(finished) == results(folder)


@pytest.mark.slow
def test_a_worker_of_a_lost_node_comes_back_on_a_new_one(cluster, node):
    ray_pool = importlib.import_module("experiments.workers.ray.pool")
    limits = Limits(seconds=60)
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
    arguments = (make_doer, 1, Limits(), (), cluster.address)
    with ray_pool.RayPool(*arguments) as pool, ray_pool.RayPool(*arguments, patience=0.5) as other:
        assert len(list(pool.map(["pid"]))) == 1
        with pytest.raises(HloError, match=r"no worker for 0\.5 s.* 1 in all, and 0 free"):
            list(other.map(["pid"]))


def test_a_run_without_its_cluster_is_told_so(tmp_path, capsys):
    folder = tmp_path / "run"
    config = tiny_config(out=folder, workers="ray", ray_address="127.0.0.1:1")
    assert train(config, "train_gnn") == FAILED
    said = capsys.readouterr().err
    assert "there is no Ray cluster at '127.0.0.1:1'" in said
    assert "ConnectionRefusedError" in said
    assert f"--resume {folder}" in said
