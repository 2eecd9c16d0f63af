"""The graph encoder sees structure, and only structure."""

import numpy as np
import pytest
import torch

from models.config import GATConfig
from models.gat import GATEncoder


@pytest.fixture
def encoder(schema):
    torch.manual_seed(0)
    return GATEncoder(schema, GATConfig(layers=2, heads=2, head_width=8, counted_kinds=4))


def test_width_and_size(encoder, random_graph):
    assert encoder([random_graph(4, 5, 0), random_graph(9, 20, 1)]).shape == (2, encoder.width)
    assert encoder.size(random_graph(9, 20, 1)) == 9


def test_a_graph_in_a_batch_is_encoded_as_alone(encoder, random_graph):
    graphs = [random_graph(n, 2 * n, seed=n) for n in (1, 5, 17, 40)]
    together = encoder(graphs)
    alone = torch.cat([encoder([graph]) for graph in graphs])
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-6)


def test_order_of_nodes_and_edges_does_not_matter(encoder, random_graph):
    graph = random_graph(30, 60, seed=3)
    rng = np.random.default_rng(0)
    order, edge_order = rng.permutation(30), rng.permutation(60)
    moved = random_graph(30, 60, seed=3)
    moved.nodes = graph.nodes[order]
    moved.edge_links = np.argsort(order)[graph.edge_links][edge_order]
    moved.edges = graph.edges[edge_order]
    torch.testing.assert_close(encoder([moved]), encoder([graph]), rtol=1e-5, atol=1e-6)


def test_operand_order_direction_and_multiplicity_are_seen(encoder, opcode_graph):
    subtract = opcode_graph([1, 2, 3], [(0, 2), (1, 2)])
    swapped = opcode_graph([1, 2, 3], [(1, 2), (0, 2)])
    reversed_edges = opcode_graph([1, 2, 3], [(2, 0), (2, 1)])
    twice = opcode_graph([1, 2, 3, 1, 2, 3], [(0, 2), (1, 2), (3, 5), (4, 5)])
    vectors = encoder([subtract, swapped, reversed_edges, twice])
    for other in vectors[1:]:
        assert (vectors[0] - other).abs().max() > 1e-4


def test_every_parameter_gets_a_gradient(encoder, random_graph):
    vectors = encoder([random_graph(200, 600, seed=s) for s in range(3)])
    weights = torch.linspace(-1, 1, vectors.numel()).view_as(vectors)
    (vectors * weights).sum().backward()
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name
