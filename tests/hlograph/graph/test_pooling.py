"""The terms of pooling compared with the formula in double precision."""

import numpy as np
import pytest

from hlograph.graph import pooling
from hlograph.graph.pooling import PoolingShape

SHAPE = PoolingShape(heads=3, width=8, kinds=16, limit=10.0)
COLUMNS = 24 + 16 + 8


def _projected() -> np.ndarray:
    # Enough rows for several threads.
    return np.random.default_rng(0).normal(scale=4, size=(5_000, COLUMNS)).astype(np.float32)


def _expected(projected: np.ndarray) -> np.ndarray:
    value, kind, gate = np.split(projected.astype(float), [24, 40], axis=1)
    weight = np.exp(10 * np.tanh(gate / 10))
    return np.hstack([np.repeat(weight[:, :3], 8, axis=1) * value, 1 / (1 + np.exp(-kind)), weight])


def test_terms_are_the_formula():
    projected = _projected()
    projected[:, -1] = 0
    found = pooling.forward(projected, SHAPE)
    np.testing.assert_allclose(found, _expected(projected), rtol=2e-5, atol=1e-6)
    assert (found[:, -1] == 1).all()  # counts nodes exactly
    np.testing.assert_array_equal(pooling.forward(projected, SHAPE, threads=3), found)


def test_gradient_is_the_slope_of_the_formula():
    projected, rng = _projected(), np.random.default_rng(1)
    gradient, direction = rng.normal(size=(2, *projected.shape)).astype(np.float32)
    terms = pooling.forward(projected, SHAPE)
    found = pooling.backward(projected, SHAPE, terms, gradient)
    ends = [
        (_expected(projected.astype(float) + step * direction) * gradient).sum(1)
        for step in (1e-6, -1e-6)
    ]
    slope = (ends[0] - ends[1]) / 2e-6
    np.testing.assert_allclose((found * direction).sum(1), slope, rtol=1e-3, atol=1e-2)
    again = pooling.backward(projected, SHAPE, terms, gradient, threads=3)
    np.testing.assert_array_equal(again, found)


@pytest.mark.parametrize(
    "shape",
    [
        PoolingShape(heads=3, width=4, kinds=8, limit=10.0),
        PoolingShape(heads=3, width=8, kinds=4, limit=10.0),
        PoolingShape(heads=4, width=8, kinds=16, limit=10.0),  # no room for gates
        PoolingShape(heads=0, width=8, kinds=16, limit=10.0),
    ],
)
def test_columns_that_do_not_fit_are_refused(shape):
    with pytest.raises(ValueError, match=r"multiples of 8|one head"):
        pooling.forward(_projected(), shape)
