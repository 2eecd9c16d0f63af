"""Fully connected layers after layer normalisation beside formulas in double precision."""

import os
import subprocess
import sys

import numpy as np
import pytest

from hlograph.graph import dense
from hlograph.graph.dense import Normalised, NormalisedGradients


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


INPUTS, OUTPUTS = 24, 37  # not whole panels


def normalised() -> Normalised:
    return Normalised(
        1 + drawn(INPUTS), drawn(INPUTS), 1e-5, drawn(OUTPUTS, INPUTS), drawn(OUTPUTS)
    )


def _normed(of: Normalised, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns normalised rows before scale and shift, and the inverse standard deviations."""
    rows = rows.astype(float)
    inverse = 1 / np.sqrt(rows.var(1, keepdims=True) + of.epsilon)
    return (rows - rows.mean(1, keepdims=True)) * inverse, inverse


def _expected(of: Normalised, rows: np.ndarray) -> np.ndarray:
    normed, _ = _normed(of, rows)
    return (normed * of.scale + of.shift) @ of.weight.T + of.bias


def _expected_gradients(
    of: Normalised, rows: np.ndarray, gradient: np.ndarray
) -> NormalisedGradients:
    normed, inverse = _normed(of, rows)
    arrived = gradient @ of.weight.astype(float)
    scaled = arrived * of.scale
    centred = scaled - scaled.mean(1, keepdims=True)
    return NormalisedGradients(
        rows=inverse * (centred - normed * (scaled * normed).mean(1, keepdims=True)),
        scale=(arrived * normed).sum(0),
        shift=arrived.sum(0),
        weight=gradient.T.astype(float) @ (normed * of.scale + of.shift),
        bias=gradient.sum(0, dtype=float),
    )


@pytest.mark.parametrize("count", [0, 1, 9, 200, 9000])
def test_normalised_results_and_gradients_are_the_formulas(count):
    of, rows, gradient = normalised(), drawn(count, INPUTS, seed=1), drawn(count, OUTPUTS, seed=2)
    found = dense.forward(of, rows)
    np.testing.assert_allclose(found, _expected(of, rows), rtol=1e-5, atol=1e-5)
    gradients = dense.backward(of, rows, gradient)
    expected = _expected_gradients(of, rows, gradient)
    for name, value in expected._asdict().items():
        error = np.abs(getattr(gradients, name) - value)
        assert (error <= 2e-6 * (1 + np.abs(value).max(initial=0))).all(), name


def test_a_normalised_row_has_the_same_bits_alone():
    of, rows = normalised(), drawn(20, INPUTS)
    together = dense.forward(of, rows)
    for row in range(20):
        np.testing.assert_array_equal(dense.forward(of, rows[row : row + 1])[0], together[row])


def test_the_number_of_threads_changes_no_bit():
    of, rows, gradient = normalised(), drawn(9000, INPUTS), drawn(9000, OUTPUTS)
    np.testing.assert_array_equal(dense.forward(of, rows, 3), dense.forward(of, rows))
    one, several = (dense.backward(of, rows, gradient, threads) for threads in (1, 3))
    for found, expected in zip(several, one, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_normalised_shapes_that_do_not_fit_are_refused():
    of, rows = normalised(), drawn(3, INPUTS)
    with pytest.raises(ValueError, match="a shift for each scale"):
        dense.forward(of._replace(shift=of.shift[1:]), rows)
    with pytest.raises(ValueError, match="a multiple of 8 wide"):
        dense.forward(of._replace(scale=of.scale[1:], shift=of.shift[1:]), rows)
    with pytest.raises(ValueError, match="another width than what is normalised"):
        dense.forward(of._replace(scale=of.scale[8:], shift=of.shift[8:]), rows)
    with pytest.raises(ValueError, match="as wide as the layer's input"):
        dense.forward(of, drawn(3, INPUTS + 8))
    with pytest.raises(ValueError, match="gradients of the wrong shape"):
        dense.backward(of, rows, drawn(3, OUTPUTS + 1))


def test_vectors_of_256_bits_give_the_same_bits():
    """Both are the same on processors without wider ones."""
    assert _sums("256") == _sums("512")


def _sums(bits: str) -> str:
    """Returns the bytes of results and gradients that a process with such vectors computes."""
    program = """
import numpy as np
from hlograph.graph import dense

drawn = lambda *shape: np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)
layer = dense.Normalised(drawn(24), drawn(24), 1e-5, drawn(37, 24), drawn(37))
rows = drawn(101, 24)
arrays = [dense.forward(layer, rows), *dense.backward(layer, rows, drawn(101, 37))]
print(b"".join(array.tobytes() for array in arrays).hex())
"""
    environment = {**os.environ, "HLOGRAPH_VECTOR_BITS": bits}
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return ran.stdout
