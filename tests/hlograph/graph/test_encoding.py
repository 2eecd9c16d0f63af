"""The encoder of graphs compared with its formulas, in double precision and node by node."""

from dataclasses import replace
from math import erf

import numpy as np
import pytest

from hlograph.graph.dense import Normalised
from hlograph.graph.encoding import AttentionLayer, EncoderWeights, GraphEncoder
from hlograph.graph.pooling import PoolingShape
from hlograph.graph.refinement import Refinement
from hlograph.graph.weighted_sums import WeightedEntries

HEADS, WIDTH, KINDS, LABELS, FEATURES = 2, 8, 8, 3, 5
ROW = HEADS * WIDTH
IDS = (4, 6)


def _weights() -> EncoderWeights:
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> np.ndarray:
        return rng.normal(scale=0.5, size=shape).astype(np.float32)

    def normalised(outputs: int) -> Normalised:
        return Normalised(1 + drawn(ROW), drawn(ROW), 1e-5, drawn(outputs, ROW), drawn(outputs))

    pooling = normalised(ROW + KINDS + 8)
    pooling.weight[ROW + KINDS + HEADS :] = pooling.bias[ROW + KINDS + HEADS :] = 0
    layers = [
        AttentionLayer(normalised(2 * ROW), drawn(2 * LABELS, ROW), drawn(HEADS, WIDTH), drawn(ROW))
        for _ in range(2)
    ]
    return EncoderWeights(
        embeddings=[drawn(ids, ROW) for ids in IDS],
        features=drawn(ROW, FEATURES),
        features_bias=drawn(ROW),
        layers=layers,
        negative_slope=0.2,
        pooling=pooling,
        shape=PoolingShape(HEADS, WIDTH, KINDS, limit=10.0),
        count_scale=0.5,
    )


def _graph(nodes: int, edges: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, IDS, (nodes, len(IDS)))
    rows = np.hstack([ids, rng.normal(size=(nodes, FEATURES))]).astype(np.float32)
    labels = rng.integers(0, LABELS, edges).astype(np.int32)
    return rows, rng.integers(0, nodes, (edges, 2)), labels


def _refinement() -> Refinement:
    return Refinement(rounds=2, columns=len(IDS) + FEATURES, labels=LABELS)


def _members(colours: list[np.ndarray]) -> WeightedEntries:
    counted = [np.unique(each, return_counts=True) for each in colours]
    offsets = np.cumsum([0, *(len(places) for places, _ in counted)])
    places, counts = (np.concatenate(parts) for parts in zip(*counted, strict=True))
    return WeightedEntries(offsets, places, counts.astype(np.float32))


def _layer(part: Normalised, x: np.ndarray) -> np.ndarray:
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + part.epsilon)
    return (x * part.scale + part.shift) @ part.weight.T.astype(float) + part.bias


def _attended(layer: AttentionLayer, nodes: np.ndarray, links, labels) -> np.ndarray:
    source, target = np.hsplit(_layer(layer.projection, nodes), 2)
    after = np.empty_like(nodes)
    for node in range(len(nodes)):
        ends = [(s, label) for (s, t), label in zip(links, labels, strict=True) if t == node]
        ends += [
            (t, label + LABELS) for (s, t), label in zip(links, labels, strict=True) if s == node
        ]
        gathered = np.zeros(ROW)
        if ends:
            near = source[[end for end, _ in ends]]
            z = near + target[node] + layer.label[[label for _, label in ends]]
            bent = np.where(z > 0, z, 0.2 * z).reshape(-1, HEADS, WIDTH)
            share = np.exp((bent * layer.weight).sum(-1))
            share /= share.sum(0)
            gathered = (share[..., None] * near.reshape(-1, HEADS, WIDTH)).sum(0).ravel()
        x = gathered + layer.bias
        after[node] = nodes[node] + x * (1 + np.vectorize(erf)(x / 2**0.5)) / 2
    return after


def _expected(weights: EncoderWeights, rows, links, labels) -> np.ndarray:
    ids = rows[:, : len(IDS)].astype(int)
    nodes = rows[:, len(IDS) :].astype(float) @ weights.features.T + weights.features_bias
    for column, embedding in enumerate(weights.embeddings):
        nodes = nodes + embedding[ids[:, column]]
    for layer in weights.layers:
        nodes = _attended(layer, nodes, links, labels)
    value, kind, gate, _ = np.split(
        _layer(weights.pooling, nodes), [ROW, ROW + KINDS, ROW + KINDS + HEADS], axis=1
    )
    share = np.exp(10 * np.tanh(gate / 10))
    mean = (share[..., None] * value.reshape(-1, HEADS, WIDTH)).sum(0) / share.sum(0)[:, None]
    counts = [*(1 / (1 + np.exp(-kind))).sum(0), len(rows)]
    return np.hstack([mean.ravel(), 0.5 * np.log1p(counts)])


def test_vectors_are_the_formula_node_by_node():
    weights, refinement = _weights(), _refinement()
    encoder = GraphEncoder(refinement, weights)
    first, second = _graph(20, 45, 0), _graph(7, 0, 1)
    colours = [refinement.add(*first), refinement.add(*second)]
    expected = np.stack([_expected(weights, *graph) for graph in (first, second)])
    found = encoder.encode(_members(colours))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert encoder.nodes().shape == (refinement.size(2), ROW)


def test_a_graph_has_the_same_bits_whatever_was_encoded_before():
    weights, graphs = _weights(), [_graph(n, 2 * n, n) for n in (1, 5, 30, 90)]
    together = _refinement()
    members = _members([together.add(*graph) for graph in graphs])
    at_once = GraphEncoder(together, weights).encode(members)
    one_by_one = _refinement()
    encoder = GraphEncoder(one_by_one, weights)
    found = [encoder.encode(_members([one_by_one.add(*graph)])) for graph in graphs]
    np.testing.assert_array_equal(np.concatenate(found), at_once)
    alone = _refinement()
    last = _members([alone.add(*graphs[-1])])
    np.testing.assert_allclose(GraphEncoder(alone, weights).encode(last)[0], at_once[-1], rtol=1e-5)


def test_columns_may_be_ids_alone():
    weights = replace(
        _weights(), features=np.zeros((0, 0), np.float32), features_bias=np.zeros(0, np.float32)
    )
    refinement = _refinement()
    graph = _graph(9, 12, 0)
    found = GraphEncoder(refinement, weights).encode(_members([refinement.add(*graph)]))
    blind = replace(
        weights,
        features=np.zeros((ROW, FEATURES), np.float32),
        features_bias=np.zeros(ROW, np.float32),
    )
    np.testing.assert_allclose(found[0], _expected(blind, *graph), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("number", [IDS[0], -1, np.nan])
def test_an_id_without_a_vector_is_refused(number):
    refinement = _refinement()
    rows, links, labels = _graph(3, 2, 0)
    rows[1, 0] = number
    encoder = GraphEncoder(refinement, _weights())
    members = _members([refinement.add(rows, links, labels)])
    with pytest.raises(IndexError, match="an id that has no vector"):
        encoder.encode(members)


def test_colours_that_there_are_not_are_refused():
    encoder = GraphEncoder(_refinement(), _weights())
    with pytest.raises(ValueError, match="a colour that is not encoded"):
        encoder.encode(_members([np.array([0], np.int32)]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": _weights().layers[:1]}, "expected a layer for each of 2 rounds, got 1"),
        ({"embeddings": [np.zeros((4, ROW + 1), np.float32)] * 2}, "embeddings must be"),
        ({"features": np.zeros((ROW + 1, 5), np.float32)}, "features must be mapped"),
        ({"features_bias": np.zeros(3, np.float32)}, "a bias for each output"),
        ({"shape": PoolingShape(HEADS, 4, KINDS, 10.0)}, "8, 16, 32 or 64"),
        ({"shape": PoolingShape(HEADS, WIDTH, 4, 10.0)}, "a gate more than heads"),
        ({"shape": PoolingShape(HEADS, WIDTH, KINDS + 8, 10.0)}, "a gate more than heads"),
    ],
)
def test_weights_that_do_not_fit_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        GraphEncoder(_refinement(), replace(_weights(), **change))


def test_rows_of_another_length_are_refused():
    refinement = Refinement(rounds=2, columns=len(IDS) + FEATURES - 1, labels=LABELS)
    with pytest.raises(ValueError, match="expected rows of 7 columns, got 6"):
        GraphEncoder(refinement, _weights())
