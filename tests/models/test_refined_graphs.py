"""Tests stores of graphs: shared neighbourhoods are stored once, and graphs are not mixed up."""

import pickle

import numpy as np
import pytest
import torch

from models.graph_view import GraphView
from models.refined_graphs import RefinedGraphs

CPU = torch.device("cpu")


def _counts(block) -> list[list[float]]:
    """Returns the number of nodes of each of the last colours, by state."""
    return block.members.sum(torch.eye(len(block.rounds[-1].own))).tolist()


@pytest.fixture
def store(schema):
    return RefinedGraphs(GraphView(schema), rounds=2)


def test_edges_are_seen_from_both_ends(store, opcode_graph, schema):
    store.add([opcode_graph([0, 1, 2], [(0, 2), (1, 2)])])
    block = store.block([0], CPU)
    first = block.rounds[0]
    assert block.rows[:, 1].tolist() == [0, 1, 2]
    assert first.own.tolist() == [0, 1, 2]
    assert first.offsets.tolist() == [0, 1, 2, 4]
    assert first.source.tolist() == [2, 2, 0, 1]
    backwards = schema.edge_labels
    assert first.label.tolist() == [backwards + 0, backwards + 1, 0, 1]
    assert _counts(block) == [[1, 1, 1]]


def test_equal_neighbourhoods_are_counted(store, opcode_graph):
    alone = opcode_graph([1, 2], [(0, 1)])
    twice = opcode_graph([1, 2, 1, 2], [(0, 1), (2, 3)])
    store.add([alone, twice])
    block = store.block([0, 1], CPU)
    assert len(block.rows) == 2
    assert _counts(block) == [[1, 1], [2, 2]]


def test_a_block_has_no_more_than_its_states_need(store, random_graph):
    graphs = [random_graph(30, 60, seed) for seed in range(4)]
    store.add(graphs)
    rows = store.block([2], CPU).rows
    expected = np.unique(graphs[2].nodes, axis=0)
    np.testing.assert_array_equal(np.unique(rows.numpy(), axis=0), expected)
    assert len(store.block([2, 0], CPU).members.offsets) == 2 + 1


@pytest.mark.parametrize("none", [True, False])
def test_graph_without_edges(store, opcode_graph, none):
    graph = opcode_graph([1, 1, 3], [])
    if none:
        graph.edges = graph.edge_links = None
    store.add([graph])
    block = store.block([0], CPU)
    assert [len(part.source) for part in block.rounds] == [0, 0]
    assert _counts(block) == [[2, 1]]


def test_groups_count_what_states_share_once(store, opcode_graph):
    small, other = opcode_graph([1, 2, 3], [(0, 1)]), opcode_graph([4, 5], [(1, 0)])
    store.add([small, small, other, small])
    assert store.groups([0, 1, 2, 3], budget=5) == [([0, 1, 2, 3], 5)]
    assert store.groups([0, 1, 2, 3], budget=4) == [([0, 1], 3), ([2], 2), ([3], 3)]
    assert store.groups([0, 2], budget=1) == [([0], 3), ([2], 2)]
    with pytest.raises(ValueError, match="has to be positive, got 0"):
        store.groups([0], 0)


def test_parts_take_about_as_many_nodes(store, opcode_graph):
    small, large = opcode_graph([1], []), opcode_graph([2, 3, 4, 5, 6], [(0, 1)])
    store.add([small, small, large, large, small])
    assert store.new_nodes([0, 1, 2, 3, 4]).tolist() == [1, 0, 5, 0, 0]
    assert store.new_nodes([2, 1]).tolist() == [5, 1]
    assert store.parts([0, 1, 2, 3, 4], 2) == [[0, 1], [2, 3, 4]]
    assert store.parts([0, 1, 2, 3, 4], 1) == [[0, 1, 2, 3, 4]]
    assert store.parts([2, 0], 3) == [[2], [0]]
    assert store.parts([0], 2) == [[0]]


def test_merged_stores_hold_the_same_graphs(schema, random_graph):
    graphs = [random_graph(20, 40, seed) for seed in range(5)]
    here, there = (RefinedGraphs(GraphView(schema), 2) for _ in range(2))
    here.add(graphs[:2])
    there.add(graphs[1:])
    here.block([0], CPU)  # tables made before the merge must not be used after it
    here.merge(pickle.loads(pickle.dumps(there)), [1, 3])
    assert len(here) == 4
    for number, graph in enumerate([*graphs[:2], graphs[2], graphs[4]]):
        rows = here.block([number], CPU).rows
        np.testing.assert_array_equal(
            np.unique(rows.numpy(), axis=0), np.unique(graph.nodes, axis=0)
        )


def test_errors_say_what_came(store, opcode_graph):
    with pytest.raises(ValueError, match="at least one graph"):
        store.block([], CPU)
    graph = opcode_graph([1], [])
    graph.nodes = graph.nodes[:, :-1]
    with pytest.raises(ValueError, match="expected rows of 8 columns"):
        store.add([graph])
