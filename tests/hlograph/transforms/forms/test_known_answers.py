"""Rules for time in jaxlib beside the answers of NumPy, on inputs that programs rarely meet."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.speed_rules.topics import class_sums
from tests.hlograph.transforms.forms.applied import rewritten


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32"])
def test_labels_out_of_range_are_of_no_class(dtype):
    limits = np.iinfo(dtype)
    labels = np.array([0, 1, 1, 4, 5, 6, limits.max, limits.min, limits.max - 1], dtype)
    result = rewritten("one-hot-sum-as-scatter", lambda i: jax.nn.one_hot(i, 5).sum(0), labels)
    expected = [np.count_nonzero(labels == each) for each in range(5)]
    np.testing.assert_array_equal(result, np.array(expected, np.float32))


def test_counts_from_another_first_number_do_not_wrap_around():
    labels = np.array([3, 4, 5, 2, -(2**31), 2**31 - 1, 2**31 - 3, -(2**31) + 3], np.int32)

    def function(labels):
        return (labels[:, None] == jnp.arange(3, 6)).sum(0)

    result = rewritten("one-hot-sum-as-scatter", function, labels)
    np.testing.assert_array_equal(result, [1, 1, 1])


def test_counts_are_exact_beyond_the_integers_of_single_precision():
    labels = np.zeros(2**24 + 6, np.int32)
    result = rewritten("one-hot-sum-as-scatter", lambda i: jax.nn.one_hot(i, 2).sum(0), labels)
    np.testing.assert_array_equal(result, [2**24 + 6, 0])


def test_masked_numbers_that_are_not_finite_stay_in_their_class():
    labels, rows = np.array([0, 2, 2, 1, 7]), np.ones((5, 2), np.float32)
    rows[0], rows[3, 1], rows[4] = np.inf, np.nan, np.nan
    result = rewritten(
        "one-hot-sum-as-scatter", lambda *x: class_sums.masked_rows(*x, classes=4), labels, rows
    )
    np.testing.assert_array_equal(result, [[np.inf, np.inf], [1, np.nan], [2, 2], [0, 0]])
