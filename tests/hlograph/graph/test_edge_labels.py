"""Labels of edges: types, and buckets of positions."""

import numpy as np

from hlograph.graph.edge_labels import POSITION_BUCKETS, edge_labels, position_bucket


def test_positions_are_exact_below_eight_then_in_octaves():
    positions = np.array([0, 1, 7, 8, 15, 16, 31, 32, 64, 127, 128, 1_000_000], np.float32)
    buckets = position_bucket(positions).tolist()
    assert buckets == [0, 1, 7, 8, 8, 9, 9, 10, 11, 11, 12, 12]
    assert max(buckets) == POSITION_BUCKETS - 1


def test_a_label_is_of_a_type_and_a_bucket():
    edges = np.array([[0, 0], [0, 9], [2, 1]], np.float32)
    labels = edge_labels(edges)
    assert labels.dtype == np.int32
    assert labels.tolist() == [0, 8, 2 * POSITION_BUCKETS + 1]
    assert edge_labels(edges, positions=False).tolist() == [0, 0, 2 * POSITION_BUCKETS]
