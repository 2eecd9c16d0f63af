"""Rules for time in jaxlib beside the answers of NumPy, on inputs that programs rarely meet."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.speed_rules.topics import class_sums, range_sums, searches, updates
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


@pytest.mark.parametrize("first", [0, 9997, 10_000, 20_000, -5])
def test_chosen_updates_of_rows_of_their_own(first):
    x, values = np.zeros((3, 10_000), np.float32), np.arange(4, dtype=np.float32) + 1
    places = np.array([first, first + 1, 3], np.int32)
    result = rewritten("update-of-select", updates.filled, x, places, values)
    for row, start in zip(x, places, strict=True):
        for i, value in enumerate(values):
            if start + i < len(row):  # negative numbers count from the end
                row[start + i] = value
    np.testing.assert_array_equal(result, x)


def test_chosen_updates_at_places_that_occur_twice():
    x, places = np.zeros((4, 3), np.float32), np.array([1, 1, 3, 9], np.int32)
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)

    def function(x, places, rows, chosen):
        return jnp.where(chosen[:, None], x.at[places].add(rows, mode="drop"), x)

    result = rewritten(
        "update-of-select", function, x, places, rows, np.array([True, True, False, True])
    )
    np.testing.assert_array_equal(result, [[0, 0, 0], rows[0] + rows[1], [0, 0, 0], rows[2]])


@pytest.mark.parametrize("place", [0, 4, 5, -6])
@pytest.mark.parametrize("trips", [0, 3])
def test_a_carried_element_outside_of_the_array_changes_nothing(place, trips):
    def function(x, place, trips):
        def step(k, x):
            return x.at[place].set(2 * x[place] + x[k] + 1, mode="drop")

        return jax.lax.fori_loop(0, trips, step, x.at[place].add(1, mode="drop"))

    x = np.arange(5, dtype=np.int32)
    result = rewritten("carried-element", function, x, np.int32(place), np.int32(trips))
    if 0 <= place < len(x):
        x[place] += 1
        for k in range(trips):
            x[place] = 2 * x[place] + x[k] + 1
    np.testing.assert_array_equal(result, x)


def test_what_a_loop_reads_of_a_carried_element_is_a_result_too():
    def function(x, place):
        def step(_, state):
            read = jax.lax.dynamic_slice(state[0], (place,), (1,))
            return jax.lax.dynamic_update_slice(state[0], 2 * read + 1, (place,)), read

        return jnp.concatenate(jax.lax.fori_loop(0, 3, step, (x, x[:1])))

    result = rewritten("carried-element", function, np.arange(4, dtype=np.int32), np.int32(2))
    np.testing.assert_array_equal(result, [0, 1, 23, 3, 11])


@pytest.mark.parametrize("place", [2, 7, -9])
def test_reads_before_updates_are_clamped_and_scatters_are_not(place):
    def function(x, place):
        scattered = x.at[place].set(9, mode="drop")
        sliced = jax.lax.dynamic_update_slice(scattered, jnp.array([5], x.dtype), (place + 1,))
        return jnp.stack([scattered[1], sliced[place], sliced.at[0].add(1)[0]])

    x = np.arange(5, dtype=np.int32)
    result = rewritten("read-before-update", function, x, np.int32(place))
    expected = np.asarray(jax.jit(function)(x, np.int32(place)))
    np.testing.assert_array_equal(result, expected)


def test_known_positions_keep_negative_zeros_only_where_nothing_is_added():
    y = np.array([[-0.0, 1], [np.nan, -np.inf]], np.float32)
    places = np.array([3, 1])

    def added(x, y):
        return x.at[places].add(y)

    for start in (0.0, -0.0):

        def function(y, start=start):
            return added(jnp.full((4, 2), start, jnp.float32), y)

        result = rewritten("scatter-as-gather:add", function, y)
        expected = np.full((4, 2), start, np.float32)
        expected[places] += y
        np.testing.assert_array_equal(result, expected)
        np.testing.assert_array_equal(np.signbit(result[0]), np.signbit(expected[0]))
        np.testing.assert_array_equal(np.signbit(result[3]), np.signbit(expected[3]))


SPECIAL = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3e38, -3e38]

EDGES = {
    "equal distances": np.linspace(-1, 3, 9),
    "rounded distances": np.linspace(0.1, 0.7, 23),
    "equal but for one edge": np.array([0, 1, 2, 3.3, 4, 5]),
    "other distances": np.array([-2, -1, 0, 4, 5, 9]),
    "an edge of -0": np.array([-2, -1, -0.0, 1, 2]),
    "-0 as first edge": np.array([-0.0, 1, 2, 3, 4, 5]),
    "-0 as last edge": np.array([-4, -3, -2, -1, -0.0]),
    "an edge twice": np.array([0.0, 1, 1, 2, 3]),
    "equal edges": np.zeros(6),
    "distances below the spacing of numbers": 2.0**24 + np.arange(9) * 0.25,
    "the widest range": np.linspace(-3e38, 3e38, 7),
    "infinite edges": np.array([-np.inf, 0, 1, 2, np.inf]),
    "an edge that is NaN": np.array([0, 1, 2, 3, np.nan]),
    "distances of denormals": np.arange(8) * 1e-44,
}


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("edges", EDGES.values(), ids=EDGES.keys())
def test_places_among_edges(edges, side):
    edges = edges.astype(np.float32)
    finite = edges[np.isfinite(edges)]
    near = [np.nextafter(finite, np.float32(way)) for way in (-np.inf, np.inf)]
    values = np.concatenate([SPECIAL, edges, *near, (finite[1:] / 2 + finite[:-1] / 2)])
    values = values.astype(np.float32)

    def function(edges, values):
        return jnp.searchsorted(edges, values, side=side)

    result = rewritten("search-by-arithmetic", function, edges, values)
    np.testing.assert_array_equal(result, jax.jit(function)(edges, values))
    if (np.abs(edges[edges != 0]) > 1e-37).all():  # jaxlib takes denormals for zeros
        is_normal = ~((values != 0) & (np.abs(values) < 1e-37))
        expected = np.searchsorted(edges, values[is_normal], side=side)
        np.testing.assert_array_equal(result[is_normal], expected)


def test_histograms_over_given_edges():
    values = np.random.default_rng(0).uniform(-1, 4, 10_000).astype(np.float32)
    for edges in (np.linspace(0, 3, 31), np.cumsum(np.arange(20)) / 60):
        edges = edges.astype(np.float32)
        result = rewritten("search-by-arithmetic", searches.histogram, values, edges)
        np.testing.assert_array_equal(result, np.histogram(values, edges)[0])


STARTS = {
    "rows in order": [0, 3, 3, 90, 100],
    "rows from the middle": [40, 40, 50, 60, 60],
    "rows that overlap": [0, 60, 40, 80, 100],
    "rows in reverse": [100, 80, 40, 10, 0],
    "rows beyond the end": [10, 20, 90, 200, 300],
    "rows before the start": [-5, -1, 20, 30, 100],
}


@pytest.mark.parametrize("starts", STARTS.values(), ids=STARTS.keys())
def test_sums_of_rows_are_those_of_their_ranges(starts):
    rng = np.random.default_rng(0)
    starts, columns = np.array(starts, np.int32), rng.integers(0, 8, 100).astype(np.int32)
    values, x = (rng.standard_normal(size).astype(np.float32) for size in (100, 8))
    result = rewritten(
        "range-sums-by-segment", range_sums.sparse_product, starts, columns, values, x
    )
    k = np.arange(100)
    inside = (k >= starts[:-1, None]) & (k < starts[1:, None])
    np.testing.assert_allclose(result, (inside * (values * x[columns])).sum(1), atol=1e-5)


def test_a_search_among_few_edges_far_apart_finds_their_places():
    edges = np.linspace(-1.6e38, 1.6e38, 4, dtype=np.float32)
    values = np.array([1e38, -1e38, 0, 1.6e38, -1.6e38, 3e38], np.float32)
    result = rewritten("search-by-arithmetic", jnp.searchsorted, edges, values)
    np.testing.assert_array_equal(result, np.searchsorted(edges, values))


SUBNORMAL = np.array([1e-40, -1e-40, 0, -0.0, 2e-40, 1, -1, -3e-40], np.float32)


@pytest.mark.parametrize(
    ("rule", "function"),
    [
        ("kernel-sort", jnp.sort),
        ("kernel-sort", lambda x: jnp.sort(x, descending=True)),
        ("kernel-sort-pairs", jnp.argsort),
    ],
)
def test_kernels_order_subnormal_numbers_as_jaxlib_does(rule, function):
    result, expected = rewritten(rule, function, SUBNORMAL), jax.jit(function)(SUBNORMAL)
    assert np.asarray(result).tobytes() == np.asarray(expected).tobytes()
