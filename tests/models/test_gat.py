"""Tests that the graph encoder sees structure, and only structure."""

import numpy as np
import pytest
import torch

from envs import PassOrderingEnv
from hlograph import corpus
from models.config import GATConfig
from models.gat import GATEncoder
from models.graph_view import GraphSchema
from tests.models.plain_gat import plain_vector


@pytest.fixture(scope="module")
def benchmark_graphs():
    """States of an episode on a real module."""
    benchmark = min(corpus.load(split="train"), key=lambda b: abs(b.op_count - 200))
    env = PassOrderingEnv(benchmark.name, costs=False)
    graphs = [env.reset()[0]["graph"]]
    for name in ("call-inliner", "algsimp", "cse", "dce"):
        action = [entry.name for entry in env.passes].index(name)
        graphs.append(env.step(action)[0]["graph"])
    return graphs


@pytest.fixture
def encoder(schema):
    torch.manual_seed(0)
    return GATEncoder(schema, GATConfig(layers=2, heads=2, head_width=8, counted_kinds=4))


def test_width(encoder, random_graph):
    vectors = encoder.encode_items([random_graph(4, 5, 0), random_graph(9, 20, 1)])
    assert vectors.shape == (2, encoder.width)


def test_real_graphs_are_encoded_as_node_by_node(benchmark_graphs):
    torch.manual_seed(0)
    encoder = GATEncoder(GraphSchema.of_hlograph(), GATConfig())
    store = encoder.store()
    store.add(benchmark_graphs)
    nodes = sum(len(graph.nodes) for graph in benchmark_graphs)
    ((_, distinct),) = store.groups(range(len(store)), budget=nodes)
    assert distinct < 0.8 * nodes
    with torch.no_grad():
        plain = torch.stack(
            [plain_vector(encoder, GATConfig(), graph) for graph in benchmark_graphs]
        )
        refined = encoder(store, torch.arange(len(store)))
    torch.testing.assert_close(refined, plain, rtol=1e-4, atol=1e-5)


def test_a_graph_in_a_batch_is_encoded_as_alone(encoder, random_graph):
    graphs = [random_graph(n, 2 * n, seed=n) for n in (1, 5, 17, 40)]
    together = encoder.encode_items(graphs)
    alone = torch.cat([encoder.encode_items([graph]) for graph in graphs])
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-6)


def test_order_of_nodes_and_edges_does_not_matter(encoder, random_graph):
    graph = random_graph(30, 60, seed=3)
    rng = np.random.default_rng(0)
    order, edge_order = rng.permutation(30), rng.permutation(60)
    moved = random_graph(30, 60, seed=3)
    moved.nodes = graph.nodes[order]
    moved.edge_links = np.argsort(order)[graph.edge_links][edge_order]
    moved.edges = graph.edges[edge_order]
    torch.testing.assert_close(
        encoder.encode_items([moved]), encoder.encode_items([graph]), rtol=1e-5, atol=1e-6
    )


def test_operand_order_direction_and_multiplicity_are_seen(encoder, opcode_graph):
    subtract = opcode_graph([1, 2, 3], [(0, 2), (1, 2)])
    swapped = opcode_graph([1, 2, 3], [(1, 2), (0, 2)])
    reversed_edges = opcode_graph([1, 2, 3], [(2, 0), (2, 1)])
    twice = opcode_graph([1, 2, 3, 1, 2, 3], [(0, 2), (1, 2), (3, 5), (4, 5)])
    vectors = encoder.encode_items([subtract, swapped, reversed_edges, twice])
    for other in vectors[1:]:
        assert (vectors[0] - other).abs().max() > 1e-4
