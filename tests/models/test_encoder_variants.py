"""Tests ablated encoders: each equals torch-geometric, and cannot see the removed parts."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import hlograph
from hlograph.graph.features import NODE_FEATURES, node_features
from models.config import GATConfig
from models.gat import GATEncoder, IncrementalGATEncoder
from models.graph_view import NEIGHBOUR_FEATURES, GraphSchema, GraphView
from tests.models.plain_gat import plain_vector
from tests.models.variants import SMALL, VARIANTS

LAYERS = ("gatv2", "gat", "sage", "gin")

every_variant = pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)


def _encoder(schema, config: GATConfig) -> GATEncoder:
    torch.manual_seed(0)
    return GATEncoder(schema, config)


def _graphs(random_graph) -> list:
    """Graphs that share most of their neighbourhoods, and one without edges."""
    graphs = [random_graph(60, 120, seed=0) for _ in range(4)]
    for number, graph in enumerate(graphs):
        graph.nodes[number, 1] = (graph.nodes[number, 1] + 1) % 6
    lonely = random_graph(3, 1, seed=1)
    lonely.edges = lonely.edge_links = None
    return [*graphs, lonely]


def _gradients(encoder, vectors) -> list[torch.Tensor]:
    encoder.zero_grad()
    (vectors * torch.linspace(-1, 1, vectors.numel()).view_as(vectors)).sum().backward()
    return [parameter.grad.clone() for parameter in encoder.parameters()]


@every_variant
def test_distinct_neighbourhoods_give_what_torch_geometric_gives_node_by_node(
    schema, random_graph, config
):
    encoder, graphs = _encoder(schema, config), _graphs(random_graph)
    plain = torch.stack([plain_vector(encoder, config, graph) for graph in graphs])
    refined = encoder.encode_items(graphs)
    torch.testing.assert_close(refined, plain, rtol=1e-5, atol=1e-6)
    expected = _gradients(encoder, plain)
    for found, gradient in zip(_gradients(encoder, refined), expected, strict=True):
        torch.testing.assert_close(
            found, gradient, rtol=1e-4, atol=1e-4 * float(gradient.abs().max())
        )


@every_variant
def test_following_a_store_gives_the_vectors_of_its_states(schema, random_graph, config):
    encoder, graphs = _encoder(schema, config), _graphs(random_graph)
    graphs += graphs[:2]
    store = encoder.store()
    incremental = encoder.incremental(store)
    # Only what is new is computed, but for layers and sizes that no fused code is for.
    fused = config.layer == "gatv2" and config.edges and config.layers > 0
    is_fused = isinstance(incremental, IncrementalGATEncoder)
    assert is_fused == (fused and config.head_width == 8)
    found = []
    for part in (graphs[:1], graphs[1:4], graphs[4:]):
        store.add(part)
        found.append(incremental.new_vectors())
    expected = encoder(store, torch.arange(len(graphs)))
    torch.testing.assert_close(torch.cat(found), expected, rtol=1e-5, atol=1e-6)
    assert not found[0].requires_grad


@every_variant
def test_every_parameter_gets_a_gradient(schema, random_graph, config):
    encoder = _encoder(schema, config)
    vectors = encoder.encode_items([random_graph(200, 600, seed=s) for s in range(3)])
    _gradients(encoder, vectors)
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


@every_variant
def test_stores_of_workers_merge(schema, random_graph, config):
    encoder, graphs = _encoder(schema, config), _graphs(random_graph)
    here, there = encoder.store(), encoder.store()
    here.add(graphs[:3])
    there.add(graphs[2:])
    here.merge(there, [1, 2])
    found = encoder(here, torch.arange(5))
    torch.testing.assert_close(found, encoder.encode_items(graphs), rtol=1e-4, atol=1e-5)


def _distance(schema, config: GATConfig, one, other) -> float:
    """Largest difference between the vectors of two graphs."""
    encoder = _encoder(schema, config)
    first, second = encoder.encode_items([one]), encoder.encode_items([other])
    return float((first - second).detach().abs().max())


def _assert_told_apart_only_with(schema, seen: GATConfig, blind: GATConfig, one, other) -> None:
    assert _distance(schema, seen, one, other) > 1e-4
    assert _distance(schema, blind, one, other) < 1e-6


@pytest.mark.parametrize("layer", LAYERS)
def test_operand_positions(schema, opcode_graph, layer):
    seen = replace(SMALL, layer=layer)
    _assert_told_apart_only_with(
        schema,
        seen,
        replace(seen, operand_positions=False),
        opcode_graph([1, 2, 3], [(0, 2), (1, 2)]),
        opcode_graph([1, 2, 3], [(1, 2), (0, 2)]),
    )


@pytest.mark.parametrize("layer", LAYERS)
def test_operand_positions_from_the_user_alone(schema, opcode_graph, layer):
    # A layer that adds up neighbours and positions apart could not tell.
    config = replace(SMALL, layer=layer, reverse_edges=False)
    subtract = opcode_graph([1, 2, 3], [(0, 2), (1, 2)])
    swapped = opcode_graph([1, 2, 3], [(1, 2), (0, 2)])
    assert _distance(schema, config, subtract, swapped) > 1e-4


@pytest.mark.parametrize("layer", LAYERS)
def test_reverse_edges(schema, opcode_graph, layer):
    # Two users of one operand, or of one each: the same to a user that sees operands only.
    seen = replace(SMALL, layer=layer)
    _assert_told_apart_only_with(
        schema,
        seen,
        replace(seen, reverse_edges=False),
        opcode_graph([1, 1, 2, 3], [(0, 2), (0, 3)]),
        opcode_graph([1, 1, 2, 3], [(0, 2), (1, 3)]),
    )


@pytest.mark.parametrize("layer", LAYERS)
def test_messages_go_from_operand_to_user(schema, opcode_graph, layer):
    config = replace(SMALL, layer=layer, reverse_edges=False)
    encoder = _encoder(schema, config)
    graph = opcode_graph([1, 2], [(0, 1)])
    store = encoder.store()
    store.add([graph])
    (part, *_) = store.block([0], torch.device("cpu")).rounds
    assert part.offsets.tolist() == [0, 0, 1]
    assert part.source.tolist() == [0]


@pytest.mark.parametrize("blind", [{"edges": False}, {"layers": 0}])
def test_edges(schema, random_graph, blind):
    one, other = random_graph(30, 60, seed=0), random_graph(30, 60, seed=0)
    other.edge_links = np.roll(other.edge_links, 1, axis=1)
    other.edges[:] = 0
    _assert_told_apart_only_with(schema, SMALL, replace(SMALL, **blind), one, other)


def test_attributes(schema, random_graph):
    blind = replace(SMALL, attributes=False)
    for columns in (slice(2, 3), slice(3, None)):
        one, other = random_graph(30, 60, seed=0), random_graph(30, 60, seed=0)
        other.nodes[:, columns] = 0
        _assert_told_apart_only_with(schema, SMALL, blind, one, other)
    for column in (0, 1):
        other = random_graph(30, 60, seed=0)
        other.nodes[:, column] = 0
        assert _distance(schema, blind, one, other) > 1e-4


def test_neighbour_features(schema, random_graph):
    one, other = random_graph(30, 60, seed=0), random_graph(30, 60, seed=0)
    hidden = sorted(3 + place for place in schema.neighbour_features)
    other.nodes[:, hidden] = 0
    blind = replace(SMALL, neighbour_features=False)
    _assert_told_apart_only_with(schema, SMALL, blind, one, other)
    other.nodes[:, 3] += 1
    assert _distance(schema, blind, one, other) > 1e-4


_WIRED = """HloModule wired

half {
  x = f32[] parameter(0)
  h = f32[] constant(0.5)
  ROOT m = f32[] multiply(x, h)
}
ENTRY main {
  a = f32[4,1]{1,0} parameter(0)
  zero = f32[] constant(0)
  one = f32[] constant(1)
  s = f32[] add(zero, one)
  c = f32[] call(s), to_apply=half
  w = f32[4,1]{1,0} broadcast(FIRST), dimensions={}
  d = f32[4,1]{1,0} add(a, w)
  e = f32[4,1]{1,0} add(SECOND, w)
  ROOT t = (f32[4,1]{1,0}, f32[4,1]{1,0}, f32[]) tuple(d, e, c)
}
"""


def test_what_is_left_of_a_real_graph_does_not_know_how_it_is_wired():
    def features(first: str, second: str):
        text = _WIRED.replace("FIRST", first).replace("SECOND", second)
        return node_features(hlograph.parse(text))

    schema = GraphSchema.of_hlograph()
    own = GraphView(schema, neighbour_features=False)
    wired, otherwise = features("zero", "a"), features("c", "d")
    seen, unseen = set(own.columns), set(range(len(NODE_FEATURES)))
    assert {NODE_FEATURES[place] for place in unseen - seen} == NEIGHBOUR_FEATURES

    def sorted_rows(nodes: np.ndarray) -> list:
        return sorted(nodes.tolist())

    assert sorted_rows(wired) != sorted_rows(otherwise)
    hidden = [sorted_rows(nodes[:, own.columns]) for nodes in (wired, otherwise)]
    assert hidden[0] == hidden[1]


@pytest.mark.parametrize("layers", [0, 1, 2, 6])
@pytest.mark.parametrize("layer", LAYERS)
def test_depth_is_how_far_a_node_sees(schema, random_graph, layer, layers):
    path = random_graph(20, 19, seed=0)
    path.edge_links = np.stack([np.arange(19), np.arange(1, 20)], axis=1)
    encoder = _encoder(schema, replace(SMALL, layer=layer, layers=layers))
    store = encoder.store()
    store.add([path])
    block = store.block([0], torch.device("cpu"))
    rows = block.rows.requires_grad_()
    nodes = encoder.embed(rows)
    for part_of, part in zip(encoder.blocks(), block.rounds, strict=True):
        nodes = part_of(nodes, part, encoder.edge_labels())
    reach = []
    for node in nodes:
        (gradient,) = torch.autograd.grad(node.sum(), rows, retain_graph=True)
        reach.append(int((gradient[:, 3:] != 0).any(1).sum()))
    expected = [min(node, layers) + 1 + min(19 - node, layers) for node in range(20)]
    assert sorted(reach) == sorted(expected)


def test_an_encoder_as_it_is_meant_has_the_parameters_that_it_always_had(schema):
    names = set(_encoder(schema, replace(SMALL, layers=1)).state_dict())
    ends = "node_type.weight opcode.weight element_type.weight node_features.weight "
    ends += "node_features.bias edge_type.weight edge_position.weight "
    layer = "norm.weight norm.bias attention.att attention.bias attention.lin_l.weight "
    layer += "attention.lin_l.bias attention.lin_r.weight attention.lin_r.bias "
    layer += "attention.lin_edge.weight"
    pooling = [
        f"pooling.{part}.{what}"
        for part in ("norm", "gate", "value", "kind")
        for what in ("weight", "bias")
    ]
    assert names == {*ends.split(), *(f"layers.0.{name}" for name in layer.split()), *pooling}


def test_fewer_than_no_layers_are_refused():
    with pytest.raises(ValueError, match="0 or more layers, got -1"):
        GATConfig(layers=-1)
