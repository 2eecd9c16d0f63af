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


def test_opcode_counts_are_part_of_the_vector(benchmark_graphs):
    """They are exact, also where graphs are added one by one or come from another store."""
    torch.manual_seed(0)
    schema = GraphSchema.of_hlograph()
    config = GATConfig(layers=1, opcode_counts=True)
    encoder = GATEncoder(schema, config)
    store, other = encoder.store(), encoder.store()
    incremental = encoder.incremental(store)
    vectors = []
    for graph in benchmark_graphs[:2]:
        store.add([graph])
        vectors.append(incremental.new_vectors())
    other.add(benchmark_graphs[1:])
    store.merge(other, range(1, len(other)))
    vectors.append(incremental.new_vectors())
    counts = [
        np.bincount(g.nodes[:, 1].astype(int), minlength=schema.opcodes) for g in benchmark_graphs
    ]
    found = torch.cat(vectors)[:, -schema.opcodes :]
    np.testing.assert_allclose(found, np.log1p(counts) / 7, rtol=1e-6)
    with torch.no_grad():
        whole = encoder(store, torch.arange(len(store)))
    assert whole.shape == (len(benchmark_graphs), encoder.width)
    torch.testing.assert_close(whole, torch.cat(vectors), rtol=1e-5, atol=1e-6)
    assert GATEncoder(schema, GATConfig(layers=1)).width == encoder.width - schema.opcodes


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
