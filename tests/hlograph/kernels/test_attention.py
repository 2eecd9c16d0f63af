"""The fused kernels compared with the formula in double precision."""

import numpy as np
import pytest

from hlograph.kernels import attention
from hlograph.kernels.attention import AttentionInput

SLOPE = 0.2


def _inputs(width: int, heads: int = 3, sources: int = 40, targets: int = 30, edges: int = 200):
    rng = np.random.default_rng(width)
    lengths = np.bincount(rng.integers(1, targets, edges), minlength=targets)  # the first has none
    return AttentionInput(
        rng.normal(size=(sources, heads * width)).astype(np.float32),
        rng.normal(size=(targets, heads * width)).astype(np.float32),
        rng.normal(size=(5, heads * width)).astype(np.float32),
        rng.normal(size=(heads, width)).astype(np.float32),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        rng.integers(0, sources, edges).astype(np.int32),
        rng.integers(0, 5, edges).astype(np.int32),
    )


def _expected(source, target, label, weight, offsets, edge_source, edge_label):
    source, target, label, weight = (x.astype(float) for x in (source, target, label, weight))
    out = np.zeros((len(target), *weight.shape))
    for row in range(len(target)):
        edges = slice(offsets[row], offsets[row + 1])
        value = source[edge_source[edges]].reshape(-1, *weight.shape)
        z = value + target[row].reshape(weight.shape)
        z += label[edge_label[edges]].reshape(-1, *weight.shape)
        logit = (np.where(z > 0, z, SLOPE * z) * weight).sum(-1)
        share = np.exp(logit - logit.max(0, initial=-np.inf))
        share /= share.sum(0) if len(share) else 1
        out[row] = (share[:, :, None] * value).sum(0)
    return out.reshape(len(target), -1)


def _backward(inputs, gradient, threads=1):
    return attention.backward(inputs, *attention.forward(inputs), gradient, threads=threads)


@pytest.mark.parametrize("width", attention.HEAD_WIDTHS)
def test_forward_is_the_formula(width):
    inputs = _inputs(width)
    out, shares = attention.forward(inputs)
    np.testing.assert_allclose(out, _expected(*inputs), rtol=1e-4, atol=1e-4)
    assert not out[0].any()  # no edges
    sums = np.add.reduceat(shares, inputs[4][1:-1])
    np.testing.assert_allclose(sums[inputs[4][2:] > inputs[4][1:-1]], 1, rtol=1e-5)


@pytest.mark.parametrize("width", attention.HEAD_WIDTHS)
def test_backward_is_the_slope_of_the_formula(width):
    inputs = _inputs(width, sources=6, targets=5, edges=12)
    rng = np.random.default_rng(0)
    gradient = rng.normal(size=inputs[1].shape).astype(np.float32)
    for number, found in enumerate(_backward(inputs, gradient)):
        direction = rng.normal(size=inputs[number].shape)
        ends = []
        for step in (1e-6, -1e-6):
            moved = list(inputs)
            moved[number] = inputs[number].astype(float) + step * direction
            ends.append((_expected(*moved) * gradient).sum())
        slope = (ends[0] - ends[1]) / 2e-6
        assert (found * direction).sum() == pytest.approx(slope, rel=1e-3, abs=1e-3)


def test_number_of_threads_changes_no_bit():
    inputs = _inputs(16, heads=4, sources=3000, targets=2500, edges=20_000)
    gradient = np.random.default_rng(0).normal(size=inputs[1].shape).astype(np.float32)
    alone, together = (
        (*attention.forward(inputs, threads=n), *_backward(inputs, gradient, n)) for n in (1, 3)
    )
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("number", "change", "message"),
    [
        (3, lambda x: x[:, :7].copy(), "width of a head must be 8, 16, 32 or 64"),
        (0, lambda x: x[:, :-1].copy(), "rows must be heads . width wide"),
        (4, lambda x: x[:-1].copy(), "one offset more than targets"),
        (4, lambda x: x[::-1].copy(), "offsets must run from 0"),
        (5, lambda x: x + 40, "an edge from a source that there is not"),
        (6, lambda x: x - 5, "an edge with a label that there is not"),
        (6, lambda x: x[1:].copy(), "one label for each edge"),
    ],
)
def test_what_does_not_fit_is_refused(number, change, message):
    inputs = list(_inputs(8))
    inputs[number] = change(inputs[number])
    with pytest.raises(ValueError, match=message):
        attention.forward(AttentionInput(*inputs))
