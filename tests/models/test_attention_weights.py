import numpy as np
import pytest
import torch

from hlograph import Module
from models.attention_weights import AttentionWeights, attention_weights
from models.config import GATConfig
from models.gat import GATEncoder
from models.graph_view import GraphSchema
from tests.tiny_module import COUNTED_LOOP


class Graph:
    """Features of a module as arrays of a graph."""

    def __init__(self, text: str) -> None:
        self.nodes, self.edges, self.edge_links = Module.from_text(text).features()


def weights_of(config: GATConfig, graph: Graph) -> AttentionWeights:
    torch.manual_seed(0)
    found = attention_weights(GATEncoder(GraphSchema.of_hlograph(), config), graph)
    assert found is not None
    return found


def test_weights_of_a_node_and_of_all_nodes_sum_to_one() -> None:
    graph = Graph(COUNTED_LOOP)

    found = weights_of(GATConfig(), graph)

    assert found.nodes.shape == (len(graph.nodes),)
    assert found.nodes.sum() == pytest.approx(1.0, abs=1e-5)
    sums = np.zeros(len(graph.nodes))
    np.add.at(sums, found.links[:, 1], found.forward)
    np.add.at(sums, found.links[:, 0], found.backward)
    np.testing.assert_allclose(sums, 1.0, atol=1e-5)


def test_an_encoder_that_looks_one_way_has_no_backward_weights() -> None:
    graph = Graph(COUNTED_LOOP)

    found = weights_of(GATConfig(reverse_edges=False), graph)

    assert not found.backward.any()
    sums = np.zeros(len(graph.nodes))
    np.add.at(sums, found.links[:, 1], found.forward)
    has_edges = np.isin(np.arange(len(graph.nodes)), found.links[:, 1])
    np.testing.assert_allclose(sums[has_edges], 1.0, atol=1e-5)


def test_weights_are_those_of_torch_geometric() -> None:
    graph = Graph(COUNTED_LOOP)
    torch.manual_seed(0)
    encoder = GATEncoder(GraphSchema.of_hlograph(), GATConfig(layers=1))

    found = attention_weights(encoder, graph)

    assert found is not None
    (layer,) = encoder.blocks()
    links, labels = encoder.view.labelled_edges(graph)
    both = np.concatenate([links, links[:, ::-1]]).T.copy()
    both_labels = torch.from_numpy(np.concatenate([labels, labels + encoder.schema.edge_labels]))
    with torch.no_grad():
        nodes = layer.norm(encoder.embed(torch.from_numpy(encoder.view.rows(graph))))
        _, (_, expected) = layer.attention(  # pyright: ignore[reportAttributeAccessIssue]
            nodes,
            torch.from_numpy(both),
            encoder.edge_labels()[both_labels.long()],
            return_attention_weights=True,
        )
    weights = np.concatenate([found.forward, found.backward])
    np.testing.assert_allclose(weights, expected.mean(1).numpy(), atol=1e-5)


@pytest.mark.parametrize("config", [GATConfig(layer="sage"), GATConfig(edges=False)])
def test_layers_without_attention_have_no_weights(config: GATConfig) -> None:
    encoder = GATEncoder(GraphSchema.of_hlograph(), config)

    assert attention_weights(encoder, Graph(COUNTED_LOOP)) is None
