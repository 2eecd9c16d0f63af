"""Clusters of this machine: each node has processes of its own."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.experiments.workers.ray.ray_setting import nothing_left

NODE = {"num_cpus": 1, "object_store_memory": 100 << 20}
# A node is dead when it answers so many times in a row not at all.
HEAD = NODE | {
    "include_dashboard": False,
    "_system_config": {
        "health_check_initial_delay_ms": 0,
        "health_check_period_ms": 300,
        "health_check_failure_threshold": 3,
    },
}


@contextmanager
def one_node(**settings: object) -> Iterator[Any]:
    """Yields a cluster of one node, to which others can be added; Ray must be contained."""
    importlib.import_module("experiments.workers.ray.cluster")  # sets up how Ray is imported
    cluster_utils = importlib.import_module("ray.cluster_utils")
    with nothing_left():
        made = cluster_utils.Cluster(initialize_head=True, head_node_args=HEAD | settings)
        yield made
        made.shutdown()
