"""The fused kernels compared with the formula in double precision."""

from math import erf

import numpy as np
import pytest

from hlograph.graph import attention
from hlograph.graph.attention import AttentionInput

SLOPE = 0.2


def _inputs(width: int, heads: int = 3, nodes: int = 40, rows: int = 30, edges: int = 200):
    rng = np.random.default_rng(width)
    lengths = np.bincount(rng.integers(1, rows, edges), minlength=rows)  # the first has none
    return AttentionInput(
        rng.normal(size=(nodes, heads * width)).astype(np.float32),
        rng.normal(size=(nodes, 2 * heads * width)).astype(np.float32),
        rng.normal(size=(5, heads * width)).astype(np.float32),
        rng.normal(size=(heads, width)).astype(np.float32),
        rng.normal(size=heads * width).astype(np.float32),
        rng.integers(0, nodes, rows),  # several rows of one node, and nodes without any
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        rng.integers(0, nodes, edges).astype(np.int32),
        rng.integers(0, 5, edges).astype(np.int32),
    )


def _expected(nodes, projected, label, weight, bias, own, offsets, edge_source, edge_label):
    nodes, projected, label, weight, bias = (
        x.astype(float) for x in (nodes, projected, label, weight, bias)
    )
    source, target = np.split(projected, 2, axis=1)
    attended = np.zeros((len(own), *weight.shape))
    for row in range(len(own)):
        edges = slice(offsets[row], offsets[row + 1])
        value = source[edge_source[edges]].reshape(-1, *weight.shape)
        z = value + target[own[row]].reshape(weight.shape)
        z += label[edge_label[edges]].reshape(-1, *weight.shape)
        logit = (np.where(z > 0, z, SLOPE * z) * weight).sum(-1)
        share = np.exp(logit - logit.max(0, initial=-np.inf))
        share /= share.sum(0) if len(share) else 1
        attended[row] = (share[:, :, None] * value).sum(0)
    return nodes[own] + _gelu(attended.reshape(len(own), -1) + bias)


def _gelu(x):
    return x * (1 + np.vectorize(erf)(x / 2**0.5)) / 2


def _backward(inputs, gradient, threads=1):
    return attention.backward(inputs, attention.forward(inputs), gradient, threads=threads)


@pytest.mark.parametrize("width", attention.HEAD_WIDTHS)
def test_forward_is_the_formula(width):
    inputs = _inputs(width)
    out, attended, shares = attention.forward(inputs)
    np.testing.assert_allclose(out, _expected(*inputs), rtol=1e-4, atol=1e-4)
    assert not attended[0].any()  # no edges
    sums = np.add.reduceat(shares, inputs.offsets[1:-1])
    np.testing.assert_allclose(sums[inputs.offsets[2:] > inputs.offsets[1:-1]], 1, rtol=1e-5)


@pytest.mark.parametrize("width", attention.HEAD_WIDTHS)
def test_backward_is_the_slope_of_the_formula(width):
    inputs = _inputs(width, nodes=6, rows=5, edges=12)
    rng = np.random.default_rng(0)
    gradient = rng.normal(size=(5, inputs.nodes.shape[1])).astype(np.float32)
    for number, found in enumerate(_backward(inputs, gradient)):
        direction = rng.normal(size=inputs[number].shape)
        ends = []
        for step in (1e-6, -1e-6):
            moved = list(inputs)
            moved[number] = inputs[number].astype(float) + step * direction
            ends.append((_expected(*moved) * gradient).sum())
        slope = (ends[0] - ends[1]) / 2e-6
        assert (found * direction).sum() == pytest.approx(slope, rel=1e-3, abs=1e-3)


def _without_edges(bias):
    """Returns the inputs of a layer that adds gelu(bias) to a node of zeros."""
    zeros = np.zeros((1, len(bias)), np.float32)
    none = np.zeros(0, np.int32)
    both, weight = np.hstack([zeros, zeros]), zeros.reshape(-1, 8)
    own, offsets = np.zeros(1, np.int64), np.zeros(2, np.int64)
    return AttentionInput(zeros, both, zeros, weight, bias, own, offsets, none, none)


def test_gelu_and_its_slope_are_exact_to_single_precision():
    x = np.linspace(-12, 12, 8001)[:-1].astype(np.float32)
    inputs = _without_edges(x)
    np.testing.assert_allclose(attention.forward(inputs).out[0], _gelu(x.astype(float)), atol=1e-6)
    found = _backward(inputs, np.ones((1, len(x)), np.float32)).bias
    density = np.exp(-(x.astype(float) ** 2) / 2) / np.sqrt(2 * np.pi)
    expected = (1 + np.vectorize(erf)(x / 2**0.5)) / 2 + x * density
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4])
def test_what_is_not_a_number_stays_so(number):
    inputs = _inputs(8)
    inputs[number][...] = np.nan
    out = attention.forward(inputs).out
    assert np.isnan(out[np.diff(inputs.offsets) > 0]).all()


def test_number_of_threads_changes_no_bit():
    inputs = _inputs(16, heads=4, nodes=3000, rows=2500, edges=20_000)
    gradient = np.random.default_rng(0).normal(size=(2500, 64)).astype(np.float32)
    alone, together = (
        (*attention.forward(inputs, threads=n), *_backward(inputs, gradient, n)) for n in (1, 3)
    )
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("weight", lambda x: x[:, :7].copy(), "width of a head must be 8, 16, 32 or 64"),
        ("nodes", lambda x: x[:, :-1].copy(), "rows must be heads . width wide"),
        ("bias", lambda x: x[1:].copy(), "rows must be heads . width wide"),
        ("projected", lambda x: x[1:].copy(), "each node must be projected"),
        ("projected", lambda x: x[:, 1:].copy(), "projected as source and as target"),
        ("own", lambda x: x[1:].copy(), "one offset more than rows"),
        ("own", lambda x: x + 40, "a row of a node that there is not"),
        ("offsets", lambda x: x[::-1].copy(), "offsets must run from 0"),
        ("edge_source", lambda x: x + 40, "an edge from a source that there is not"),
        ("edge_label", lambda x: x - 5, "an edge with a label that there is not"),
        ("edge_label", lambda x: x[1:].copy(), "one label for each edge"),
    ],
)
def test_what_does_not_fit_is_refused(name, change, message):
    inputs = _inputs(8)
    with pytest.raises(ValueError, match=message):
        attention.forward(inputs._replace(**{name: change(getattr(inputs, name))}))
