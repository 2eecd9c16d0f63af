"""One worker on each node: reports come as they are made, and a lost node costs its task alone."""

import importlib

import pytest

from hlograph.errors import HloError, HloParseError, WorkerKilledError
from hlograph.storage.machine import machine
from tests.experiments.workers.ray.ray_deeds import reporter
from tests.experiments.workers.ray.two_nodes import NODE, one_node


@pytest.fixture(scope="module")
def cluster(contained):
    with one_node(node_name="head") as made:
        yield made


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
