"""Sums over shared rows compared with matrix products."""

import numpy as np
import pytest

from hlograph.graph import weighted_sums
from hlograph.graph.weighted_sums import WeightedEntries


def _entries(sums: int = 7, rows: int = 30, count: int = 50) -> WeightedEntries:
    rng = np.random.default_rng(0)
    lengths = np.bincount(rng.integers(1, sums, count), minlength=sums)  # the first has none
    return WeightedEntries(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        rng.integers(0, rows, count).astype(np.int32),
        rng.normal(size=count).astype(np.float32),
    )


def _matrix(entries: WeightedEntries, rows: int) -> np.ndarray:
    matrix = np.zeros((len(entries.offsets) - 1, rows))
    sums = np.repeat(np.arange(len(matrix)), np.diff(entries.offsets))
    np.add.at(matrix, (sums, entries.place), entries.weight)
    return matrix


@pytest.mark.parametrize("columns", [0, 1, 8, 21, 112])
def test_sums_and_their_gradient_are_products(columns):
    entries, rng = _entries(), np.random.default_rng(1)
    values = rng.normal(size=(30, columns)).astype(np.float32)
    gradient = rng.normal(size=(7, columns)).astype(np.float32)
    matrix = _matrix(entries, 30)
    found = weighted_sums.forward(values, entries)
    np.testing.assert_allclose(found, matrix @ values, rtol=1e-5, atol=1e-5)
    back = weighted_sums.backward(gradient, entries, 30)
    np.testing.assert_allclose(back, matrix.T @ gradient, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("columns", [0, 1, 8, 21, 112])
def test_number_of_threads_changes_no_bit(columns):
    entries, rng = _entries(count=6_000), np.random.default_rng(1)
    values = rng.normal(size=(30, columns)).astype(np.float32)
    gradient = rng.normal(size=(7, columns)).astype(np.float32)
    found = weighted_sums.forward(values, entries)
    back = weighted_sums.backward(gradient, entries, 30)
    for threads in (2, 5):
        np.testing.assert_array_equal(weighted_sums.forward(values, entries, threads), found)
        again = weighted_sums.backward(gradient, entries, 30, threads)
        np.testing.assert_array_equal(again, back)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("offsets", lambda x: x + 1, "offsets must run from 0"),
        ("offsets", lambda x: x[[0, 2, 1, *range(3, 8)]], "offsets must not fall"),
        ("offsets", lambda x: x[:-1].copy(), "offsets must run from 0"),
        ("place", lambda x: x + 30, "an entry of a row that there is not"),
        ("place", lambda x: x - 30, "an entry of a row that there is not"),
        ("weight", lambda x: x[1:].copy(), "one weight for each entry"),
    ],
)
def test_what_does_not_fit_is_refused(name, change, message):
    entries = _entries()
    wrong = entries._replace(**{name: change(getattr(entries, name))})
    with pytest.raises(ValueError, match=message):
        weighted_sums.forward(np.zeros((30, 8), np.float32), wrong)
