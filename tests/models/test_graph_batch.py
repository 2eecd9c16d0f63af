"""The batch is block-diagonal, holds each edge both ways, and says what does not fit."""

import numpy as np
import pytest
import torch

from models.graph_batch import POSITION_BUCKETS, collate, position_bucket


def test_graphs_are_renumbered_and_edges_reversed(opcode_graph, schema):
    batch = collate([opcode_graph([1, 2], [(0, 1)]), opcode_graph([3, 4, 5], [(0, 2)])], schema)

    assert batch.opcode.tolist() == [1, 2, 3, 4, 5]
    assert batch.graph_index.tolist() == [0, 0, 1, 1, 1]
    assert batch.num_graphs == 2
    assert batch.edge_index.tolist() == [[0, 2, 1, 4], [1, 4, 0, 2]]
    assert batch.edge_type.tolist() == [0, 0, schema.edge_types, schema.edge_types]


def test_both_directions_of_an_edge_keep_its_operand_position(opcode_graph, schema):
    batch = collate([opcode_graph([0, 1, 2], [(0, 2), (1, 2)])], schema)
    assert batch.edge_position.tolist() == [0, 1, 0, 1]


def test_ids_and_features_come_from_their_columns(random_graph, schema):
    graph = random_graph(7, 9, seed=0)
    batch = collate([graph], schema)
    ids = torch.stack([batch.node_type, batch.opcode, batch.element_type], dim=1)
    np.testing.assert_array_equal(ids, graph.nodes[:, :3])
    np.testing.assert_array_equal(batch.node_features, graph.nodes[:, 3:])


def test_graph_without_edges(opcode_graph, schema):
    graph = opcode_graph([1], [])
    for edges in (graph.edges, None):
        graph.edges = edges
        batch = collate([graph, graph], schema)
        assert batch.edge_index.shape == (2, 0)
        assert batch.edge_type.shape == (0,)


def test_positions_are_exact_below_eight_then_in_octaves():
    positions = torch.tensor([0, 1, 7, 8, 15, 16, 31, 32, 64, 127, 128, 1_000_000])
    buckets = position_bucket(positions).tolist()
    assert buckets == [0, 1, 7, 8, 8, 9, 9, 10, 11, 11, 12, 12]
    assert max(buckets) == POSITION_BUCKETS - 1


def test_errors_say_what_came(opcode_graph, schema):
    with pytest.raises(ValueError, match="at least one graph"):
        collate([], schema)
    graph = opcode_graph([1], [])
    graph.nodes = graph.nodes[:, :-1]
    with pytest.raises(ValueError, match="7 columns, the schema says 8"):
        collate([graph], schema)
