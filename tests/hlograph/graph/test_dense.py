"""Fully connected layers compared with their formula in double precision."""

import numpy as np
import pytest

from hlograph.graph.dense import Dense

SIZES = [(1, 1), (3, 16), (16, 16), (5, 7), (40, 33), (0, 5), (7, 0)]
"""Inputs and outputs, also such that fill no whole register."""


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def layer(inputs: int, outputs: int) -> Dense:
    return Dense(drawn(outputs, inputs), drawn(outputs, seed=1))


@pytest.mark.parametrize(("inputs", "outputs"), SIZES)
@pytest.mark.parametrize("count", [0, 1, 6, 50])
def test_results_are_the_formula(inputs, outputs, count):
    rows = drawn(count, inputs, seed=2)
    found = layer(inputs, outputs)(rows)
    expected = rows.astype(float) @ drawn(outputs, inputs).T.astype(float) + drawn(outputs, seed=1)
    assert found.dtype == np.float32
    assert found.shape == (count, outputs)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_a_row_has_the_same_bits_alone():
    dense, rows = layer(40, 33), drawn(50, 40, seed=2)
    together = dense(rows)
    for number in range(len(rows)):
        np.testing.assert_array_equal(dense(rows[number : number + 1])[0], together[number])


def test_parameters_are_copied():
    weight, bias, rows = drawn(4, 3), drawn(4, seed=1), drawn(2, 3, seed=2)
    dense = Dense(weight, bias)
    before = dense(rows)
    weight[:], bias[:] = 0, 0
    np.testing.assert_array_equal(dense(rows), before)


@pytest.mark.parametrize("biases", [3, 5])
def test_other_numbers_of_biases_are_refused(biases):
    with pytest.raises(ValueError, match="a bias for each output"):
        Dense(drawn(4, 3), drawn(biases))


@pytest.mark.parametrize("width", [2, 4])
def test_rows_of_another_width_are_refused(width):
    with pytest.raises(ValueError, match="as wide as the layer's input"):
        layer(3, 4)(drawn(2, width))
