"""The heads of an actor-critic compared with their formula in double precision."""

import numpy as np
import pytest

from hlograph.graph.heads import Heads, HeadWeights

HIDDEN, ACTIONS = 16, 11


def _head(inputs: int, outputs: int, seed: int) -> HeadWeights:
    rng = np.random.default_rng(seed)
    shapes = ((HIDDEN, inputs), (HIDDEN,), (outputs, HIDDEN), (outputs,))
    return HeadWeights(*(rng.normal(size=shape).astype(np.float32) for shape in shapes))


def _expected(head: HeadWeights, rows: np.ndarray) -> np.ndarray:
    hidden = np.tanh(rows.astype(float) @ head.hidden.T + head.hidden_bias)
    return hidden @ head.output.T + head.output_bias


POLICY, VALUE = _head(5, ACTIONS, 0), _head(7, 1, 1)  # the value head sees two columns more


def _states(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    mask = rng.random((count, ACTIONS)) < 0.5
    mask[:, -1] = True
    return rng.normal(size=(count, 7)).astype(np.float32), mask


def test_results_are_the_formula():
    rows, mask = _states(20)
    log_probs, values = Heads(POLICY, VALUE, -1e9).evaluate(rows, mask)
    logits = np.where(mask, _expected(POLICY, rows[:, :5]), -1e9)
    shares = np.exp(logits - logits.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    np.testing.assert_allclose(np.exp(log_probs), shares, rtol=1e-5, atol=1e-6)
    assert (np.exp(log_probs)[~mask] == 0).all()
    assert np.isfinite(log_probs).all()
    np.testing.assert_allclose(values, _expected(VALUE, rows)[:, 0], rtol=1e-5, atol=1e-5)


def test_a_row_has_the_same_bits_alone():
    rows, mask = _states(20)
    heads = Heads(POLICY, VALUE, -1e9)
    together = heads.evaluate(rows, mask)
    for row in range(20):
        alone = heads.evaluate(rows[row : row + 1], mask[row : row + 1])
        for found, expected in zip(alone, together, strict=True):
            np.testing.assert_array_equal(found[0], expected[row])


def test_shapes_that_do_not_fit_are_refused():
    rows, mask = _states(2)
    heads = Heads(POLICY, VALUE, -1e9)
    with pytest.raises(ValueError, match="as wide as what the heads see"):
        heads.evaluate(rows[:, :6].copy(), mask)
    with pytest.raises(ValueError, match="a mask of the wrong shape"):
        heads.evaluate(rows, mask[:, 1:].copy())
    with pytest.raises(ValueError, match="multiple of 8"):
        Heads(POLICY._replace(hidden=POLICY.hidden[:7].copy()), VALUE, -1e9)
    with pytest.raises(ValueError, match="must follow each other"):
        Heads(POLICY, VALUE._replace(output=np.zeros((1, 8), np.float32)), -1e9)
