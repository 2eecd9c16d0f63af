"""Native kernels in jaxlib: each computes the form that it replaces, and its claim can fail.

The claim of a kernel is the HLO that its rule replaces. A wrong variant, the same call with one
error, must give other results on the same inputs.
"""

from functools import partial
from random import Random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hlograph
from benchmarks.speed_rules.catalogue import KERNELS
from benchmarks.speed_rules.lowering import array, lowered
from benchmarks.speed_rules.topics import kernels, recurrences
from benchmarks.speed_rules.topics.convolutions import convolved
from hlograph.execution.equivalence.arrays import signature_of
from hlograph.execution.equivalence.engines import Limits, make_runner
from tests.hlograph.transforms.kernels.kernel_checks import (
    check_kernel,
    kernel_verdicts,
    outputs_of,
    with_kernels,
)

RANDOM = st.randoms(use_true_random=False)

WRONG = {
    "kernel-sort": {
        "zeros ordered by sign": ("canonical = true", "canonical = false"),
        "greatest first": ("descending = false", "descending = true"),
    },
    "kernel-sort-pairs": {
        "equal zeros ordered by sign": ("canonical = true", "canonical = false"),
        "positions for elements": ("array<i64: 0, 1>", "array<i64: 1, 0>"),
    },
    "kernel-top-k": {
        "zeros of both signs equal": (
            'target="hlograph.kernel.top_k"',
            'target="hlograph.kernel.sort_pairs"',
        ),
    },
    "kernel-binary-search": {
        "places after equal edges": ("includes_equal = false", "includes_equal = true"),
        "too few steps": ("steps = 4", "steps = 3"),
    },
    "kernel-threefry": {
        "another parity of the keys": ("constant(466688986)", "constant(466688987)"),
        "keys of other rows": ("slice={[0:4], [0:2]}", "slice={[1:5], [0:2]}"),
    },
    "kernel-scatter-add": {"rows of another argument": ("(x, i, y)", "(x, i, z)")},
    "kernel-scatter-add:integers": {"no initial sums": ("(x, i, y)", "(w, i, y)")},
    "kernel-cumulative": {
        "another operation": ('operation = "add"', 'operation = "maximum"'),
        "the other dimension": ("dimension = 1", "dimension = 0"),
    },
    "kernel-cumulative:integers": {
        "from the other end": ("reversed = false", "reversed = true"),
    },
    "kernel-convolution": {
        "another padding": ("lows = array<i64: 1, 0>", "lows = array<i64: 0, 0>"),
        "taps in the other order": ("reversed = array<i64: 0, 0>", "reversed = array<i64: 1, 0>"),
        "features for channels": (
            "kernel = array<i64: 0, 1, 2, 3>",
            "kernel = array<i64: 0, 1, 3, 2>",
        ),
    },
    "kernel-fourier": {
        "the other direction": ("inverse = false", "inverse = true"),
        "the other dimension": ("array<i64: 1>", "array<i64: 0>"),
    },
    "kernel-recurrence": {
        "another function": ("tanh 16", "logistic 16"),
        "columns of the matrix for rows": ("dot 16 0 2 0", "dot 16 0 2 1"),
        "from the last iteration on": ("reversed = false", "reversed = true"),
    },
    "kernel-int8-product": {
        "columns for rows": ("by_columns = false", "by_columns = true"),
    },
    "kernel-complex-rows": {
        "no factor conjugated": ("conjugate = true", "conjugate = false"),
    },
    "kernel-small-cholesky": {
        "upper factor": ("is_lower = true", "is_lower = false"),
    },
    "kernel-small-lu": {
        "matrices of another argument": ("custom-call(x)", "custom-call(y)"),
    },
    "kernel-small-solve": {
        "upper triangle": ("is_lower = true", "is_lower = false"),
        "transposed matrix": ("is_transposed = false", "is_transposed = true"),
        "diagonal of ones": ("has_unit_diagonal = false", "has_unit_diagonal = true"),
    },
}
"""Errors, as text of the calls and what takes its place."""

_SUMS = """HloModule sums
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}
ENTRY main {
  w = f32[5,3] parameter(0)
  x = f32[5,3] parameter(1)
  i = s32[1100,1] parameter(2)
  y = f32[1100,3] parameter(3)
  z = f32[1100,3] parameter(4)
  ROOT sums = f32[5,3] scatter(x, i, y), update_window_dims={1}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
}"""

TEXTS = {
    "kernel-scatter-add": _SUMS,
    "kernel-scatter-add:integers": _SUMS.replace("f32", "s32"),
    "kernel-sort": """HloModule sort
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
ORDER}
ENTRY main {
  x = f32[7,33] parameter(0)
  ROOT sorted = f32[7,33] sort(x), dimensions={1}, is_stable=true, to_apply=less
}""",
    "kernel-sort-pairs": """HloModule sort_pairs
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
ORDER}
ENTRY main {
  x = f32[7,33] parameter(0)
  y = f32[7,33] parameter(1)
  ROOT sorted = (f32[7,33], f32[7,33]) sort(x, y), dimensions={1}, is_stable=true, to_apply=less
}""",
    "kernel-top-k": """HloModule top_k
ENTRY main {
  x = f32[7,33] parameter(0)
  ROOT best = (f32[7,33], s32[7,33]) topk(x), k=33, largest=true
}""",
    "kernel-binary-search": lowered(
        jnp.searchsorted, array(9, dtype="int32"), array(40, dtype="int32")
    ),
    "kernel-threefry": lowered(
        lambda keys: jax.vmap(partial(jax.random.bits, shape=(3, 99)))(keys[:4]),
        array(5, 2, dtype="uint32"),
    ),
    "kernel-cumulative": lowered(partial(jnp.cumsum, axis=1), array(9, 33)),
    "kernel-cumulative:integers": lowered(jnp.cumsum, array(33, dtype="int32")),
    "kernel-convolution": lowered(
        partial(convolved, padding=((1, 1), (0, 0))), array(2, 6, 5, 16), array(3, 3, 16, 16)
    ),
    "kernel-fourier": """HloModule transform
ENTRY main {
  x = c64[12,12] parameter(0)
  ROOT z = c64[12,12] fft(x), fft_type=FFT, fft_length={12}
}""",
    "kernel-recurrence": lowered(
        partial(recurrences.run, recurrences.plain),
        *(array(*shape) for shape in ((3, 16), (16, 16), (5, 2, 3), (2, 16))),
    ),
    "kernel-int8-product": """HloModule products
ENTRY main {
  x = s8[5,9] parameter(0)
  y = s8[9,9] parameter(1)
  ROOT z = s32[5,9] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}""",
    "kernel-complex-rows": """HloModule inner
ENTRY main {
  x = c64[5,9] parameter(0)
  y = c64[5,9] parameter(1)
  real = f32[5,9] real(x)
  imaginary = f32[5,9] imag(x)
  negated = f32[5,9] negate(imaginary)
  conjugate = c64[5,9] complex(real, negated)
  ROOT z = c64[5] dot(conjugate, y), lhs_batch_dims={0}, rhs_batch_dims={0},
    lhs_contracting_dims={1}, rhs_contracting_dims={1}
}""",
    "kernel-small-cholesky": lowered(kernels.factors, array(20, 3, 3)),
    "kernel-small-lu": """HloModule lu
ENTRY main {
  x = f32[20,3,3] parameter(0)
  y = f32[20,3,3] parameter(1)
  ROOT lu = (f32[20,3,3]{1,2,0}, s32[20,3], s32[20]) custom-call(x),
    custom_call_target="lapack_sgetrf_ffi", api_version=API_VERSION_TYPED_FFI, backend_config={},
    operand_layout_constraints={f32[20,3,3]{1,2,0}}, output_to_operand_aliasing={{0}: (0, {})}
}""",
    "kernel-small-solve": lowered(kernels.whitened, array(20, 3, 3), array(20, 3, 2)),
}
"""Programs with kernels whose wrong variants are refuted."""

_CANONICAL = """  zero = f32[] constant(0)
  usual_nan = f32[] constant(nan)
""" + "".join(
    f"""  is_nan.{x} = pred[] compare({x}, {x}), direction=NE
  is_zero.{x} = pred[] compare({x}, zero), direction=EQ
  number.{x} = f32[] select(is_zero.{x}, zero, {x})
  side.{x} = f32[] select(is_nan.{x}, usual_nan, number.{x})
"""
    for x in "ab"
)
_ORDER = (
    f"{_CANONICAL}  ROOT less = pred[] compare(side.a, side.b), direction=LT, type=TOTALORDER\n"
)


@pytest.mark.parametrize("rule", KERNELS)
@settings(max_examples=4, deadline=None, derandomize=True)
@given(rng=RANDOM)
def test_a_kernel_computes_the_form_that_it_replaces(rule: str, rng: Random):
    text = KERNELS[rule](rng)
    check_kernel(rule, text, ("equal",) if hlograph.rules[rule].exact else ("equal", "close"))


def test_every_kernel_has_a_wrong_variant():
    assert set(WRONG) == set(KERNELS)


@pytest.mark.parametrize(("rule", "error"), [(r, e) for r, errors in WRONG.items() for e in errors])
def test_a_wrong_variant_is_refuted(rule, error):
    module, right = with_kernels(rule, TEXTS[rule].replace("ORDER}", _ORDER + "}"))
    old, new = WRONG[rule][error]
    text = right.to_text()
    assert old in text
    text = text.replace(old, new)
    if "sort_pairs" in new:
        text = text.replace(
            "API_VERSION_TYPED_FFI",
            "API_VERSION_TYPED_FFI, backend_config={sources = array<i64: 0, -1>, "
            "descending = true, canonical = true}",
        ).replace("}, backend_config={}", "}")
    wrong = hlograph.Module.from_text(text)
    exact = hlograph.rules[rule].exact
    allowed = {"equal"} if exact else {"equal", "close"}
    assert set(kernel_verdicts(right, module, special=exact)) <= allowed
    assert "different" in kernel_verdicts(wrong, module, special=exact)


LARGE = {
    "parts whose sums overflow": 1e38 + 1e38j,
    "a product that overflows": 3e38 + 1j,
    "an infinite part": complex(np.inf, 1),
    "infinite parts": complex(np.inf, -np.inf),
}


@pytest.mark.parametrize("number", LARGE.values(), ids=LARGE.keys())
@pytest.mark.parametrize("factor", [1 + 1j, 2 - 2j])
def test_products_of_parts_are_subtracted_before_they_are_summed(number, factor):
    module, rewritten = with_kernels("kernel-complex-rows", TEXTS["kernel-complex-rows"])
    x = np.full((5, 9), number, np.complex64)
    x[1, 1:] = 1  # one large number among others
    inputs = [x, np.full((5, 9), factor, np.complex64)]
    (expected,), (result,) = (outputs_of(m, inputs) for m in (module, rewritten))
    signature = signature_of(module)
    (evaluated,) = make_runner("evaluator", module, signature, Limits())(inputs)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(result, evaluated)


def test_sums_of_parts_that_overflow_make_no_nan():
    _, rewritten = with_kernels("kernel-complex-rows", TEXTS["kernel-complex-rows"])
    inputs = [np.full((5, 9), value, np.complex64) for value in (1e38 + 1e38j, 1 + 1j)]
    (result,) = outputs_of(rewritten, inputs)
    np.testing.assert_array_equal(result, np.full(5, np.inf, np.complex64))


@pytest.mark.parametrize("pivot", [1.7e38, -3e38, np.inf, np.nan, 1e-39, 0.0])
@pytest.mark.parametrize("columns", [1, 2, 11])
def test_systems_are_divided_by_pivots_as_blas_does(pivot, columns):
    text = lowered(kernels.solved_by, array(20, 3, 3), array(20, 3, columns))
    module, rewritten = with_kernels("kernel-small-solve", text)
    matrices = np.broadcast_to(np.tril(np.ones((3, 3), np.float32)), (20, 3, 3)).copy()
    matrices[:, 1, 1] = pivot
    inputs = [matrices, np.full((20, 3, columns), 3e37, np.float32)]
    (expected,), (result,) = (outputs_of(m, inputs) for m in (module, rewritten))
    np.testing.assert_array_equal(result, expected)


NAN = np.float32("nan")
FINDS = {
    "among equal edges": ([1, 2, 2, 3], [0, 1, 2, 3, 4], [0, 0, 1, 3, 4], [0, 1, 3, 4, 4]),
    "zeros of both signs": ([-1, -0.0, 0.0], [0.0, -0.0, 1e-40], [1, 1, 1], [3, 3, 3]),
    "NaNs": ([0, np.inf, NAN], [NAN, -NAN, np.inf, 1], [2, 2, 1, 1], [3, 3, 2, 1]),
    "one edge": ([1], [0, 1, 2], [0, 0, 1], [0, 1, 1]),
    "edges in no order": ([5, 1, 4, 2, 3], [3, 0], [2, 0], [2, 0]),
}
"""Edges, values, and their places by either side."""


@pytest.mark.parametrize("case", FINDS.values(), ids=FINDS.keys())
@pytest.mark.parametrize("side", ["left", "right"])
def test_places_among_edges(case, side):
    edges, values = (np.array(numbers, np.float32) for numbers in case[:2])
    places = np.array(case[2 if side == "left" else 3], np.int32)

    def function(edges, values):
        return jnp.searchsorted(edges, values, side=side)

    text = lowered(function, array(len(edges)), array(len(values)))
    module, rewritten = with_kernels("kernel-binary-search", text)
    for searching in (module, rewritten):
        np.testing.assert_array_equal(outputs_of(searching, [edges, values])[0], places)


@pytest.mark.parametrize("shape", [(2, 6), (2, 3, 2)])
def test_places_among_the_edges_of_each_row(shape):
    rng = np.random.default_rng(0)
    edges = np.sort(rng.normal(size=(2, 9))).astype(np.float32)
    values = rng.normal(size=shape).astype(np.float32)
    function = partial(kernels.searched_by_hand, of_rows=(2, 6))
    _, rewritten = with_kernels(
        "kernel-binary-search", lowered(function, array(2, 9), array(*shape))
    )
    expected = [np.searchsorted(e, v.ravel()) for e, v in zip(edges, values, strict=True)]
    (places,) = outputs_of(rewritten, [edges, values])
    np.testing.assert_array_equal(places.reshape(2, 6), expected)


def test_a_search_that_orders_no_nans_is_refuted():
    _, rewritten = with_kernels("kernel-binary-search", lowered(jnp.searchsorted, *[array(3)] * 2))
    right = rewritten.to_text()
    wrong = hlograph.Module.from_text(right.replace("orders_nans = true", "orders_nans = false"))
    numbers = np.array([0, np.inf, NAN], np.float32)
    assert outputs_of(rewritten, [numbers, numbers])[0].tolist() == [0, 1, 2]
    assert outputs_of(wrong, [numbers, numbers])[0].tolist() == [0, 1, 3]


def test_a_search_refuses_more_steps_than_a_place_has_bits():
    _, rewritten = with_kernels("kernel-binary-search", TEXTS["kernel-binary-search"])
    text = rewritten.to_text().replace("steps = 4", "steps = 64")
    inputs = [np.zeros(9, np.int32), np.zeros(40, np.int32)]
    with pytest.raises(jax.errors.JaxRuntimeError, match="at most 63 steps"):
        outputs_of(hlograph.Module.from_text(text), inputs)


@pytest.mark.parametrize("rows", [(), (30,)])
def test_places_of_many_values_on_all_threads(rows):
    rng = np.random.default_rng(0)
    edges = np.sort(rng.normal(size=(*rows, 37)), axis=-1)
    values = rng.normal(size=(*rows, 3001))
    search = jax.vmap(jnp.searchsorted) if rows else jnp.searchsorted
    text = lowered(search, array(*edges.shape, dtype="float64"), array(*values.shape))
    _, rewritten = with_kernels("kernel-binary-search", text)
    (found,) = outputs_of(rewritten, [edges, values.astype(np.float32)])
    expected = [
        np.searchsorted(edge, value.astype(np.float32))
        for edge, value in zip(edges.reshape(-1, 37), values.reshape(-1, 3001), strict=True)
    ]
    np.testing.assert_array_equal(found.reshape(-1, 3001), expected)


@pytest.mark.parametrize("shape", [(70001,), (257, 300)])
def test_bits_are_those_of_jax(shape):
    key = np.array([3, 2**32 - 5], np.uint32)
    text = lowered(lambda key: jax.random.bits(key, shape), array(2, dtype="uint32"))
    _, rewritten = with_kernels("kernel-threefry", text)
    np.testing.assert_array_equal(outputs_of(rewritten, [key])[0], jax.random.bits(key, shape))


@pytest.mark.parametrize("keys", [(3,), (700,), (2, 3)])
@pytest.mark.parametrize("shape", [(), (5, 7), (256,), (700,)])
def test_bits_of_each_key_are_those_of_jax(keys, shape):
    def function(keys):
        return jax.random.bits(keys, shape)

    for _ in keys:
        function = jax.vmap(function)
    values = np.random.default_rng(0).integers(0, 2**32, (*keys, 2), np.uint32)
    text = lowered(function, array(*keys, 2, dtype="uint32"))
    _, rewritten = with_kernels("kernel-threefry", text)
    np.testing.assert_array_equal(outputs_of(rewritten, [values])[0], function(values))


FEW_KEYS = """HloModule bits
ENTRY main {
  keys = u32[4] parameter(0)
  fewer = u32[3] parameter(1)
  ROOT bits = u32[4,9] custom-call(keys, keys, keys, keys, fewer),
    custom_call_target="hlograph.kernel.threefry", api_version=API_VERSION_TYPED_FFI
}"""


def test_bits_refuse_too_few_keys():
    keys = [np.zeros(count, np.uint32) for count in (4, 3)]
    with pytest.raises(jax.errors.JaxRuntimeError, match="five keys for each row"):
        outputs_of(hlograph.Module.from_text(FEW_KEYS), keys)


PRODUCTS = [
    (1, 5, 3),
    (7, 4, 64),
    (8, 700, 200),
    (32, 2500, 70),
    (33, 130, 65),
    (150, 1027, 17),
    (530, 64, 129),
]
"""Rows, elements that are multiplied, and columns: for few rows and for many."""


@pytest.mark.parametrize("sizes", PRODUCTS)
@pytest.mark.parametrize("by_columns", [False, True])
def test_products_of_bytes_are_exact(sizes, by_columns):
    rows, depth, columns = sizes
    shapes = (rows, depth), (columns, depth) if by_columns else (depth, columns)
    function = kernels.int8_rows if by_columns else kernels.int8_layer
    text = lowered(function, *(array(*shape, dtype="int8") for shape in shapes))
    _, rewritten = with_kernels("kernel-int8-product", text)
    rng = np.random.default_rng(0)
    left, right = (rng.integers(-128, 128, shape, np.int8) for shape in shapes)
    left[0], right[0] = -128, -128
    expected = left.astype(np.int32) @ (right.T if by_columns else right).astype(np.int32)
    np.testing.assert_array_equal(outputs_of(rewritten, [left, right])[0], expected)


LABELS = {
    "in order": np.arange(5000) // 50,
    "all equal": np.full(5000, 7),
    "outside": np.arange(5000) % 250 - 70,
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
@pytest.mark.parametrize("width", [(), (3,)])
def test_sums_by_label_are_the_same_in_each_run(labels, width):
    def function(labels, rows, start):
        return start.at[labels].add(rows, mode="drop", wrap_negative_indices=False)

    shapes = (array(5000, dtype="int32"), array(5000, *width), array(100, *width))
    _, rewritten = with_kernels("kernel-scatter-add", lowered(function, *shapes))
    rng = np.random.default_rng(0)
    rows, start = (rng.normal(size=shape.shape).astype(np.float32) for shape in shapes[1:])
    expected = start.astype(np.float64)
    inside = (labels >= 0) & (labels < 100)
    np.add.at(expected, labels[inside], rows[inside])
    inputs = [labels.astype(np.int32), rows, start]
    (first,), (second,) = (outputs_of(rewritten, inputs) for _ in range(2))
    np.testing.assert_allclose(first, expected, rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(first, second)


def test_sums_refuse_rows_of_another_width():
    _, rewritten = with_kernels("kernel-scatter-add", TEXTS["kernel-scatter-add"])
    text = rewritten.to_text().replace("f32[1100,3]", "f32[1100,2]")
    inputs = [np.zeros((5, 3), np.float32)] * 2 + [np.zeros((1100, 1), np.int32)]
    inputs += [np.zeros((1100, 2), np.float32)] * 2
    with pytest.raises(jax.errors.JaxRuntimeError, match="a row for each label"):
        outputs_of(hlograph.Module.from_text(text), inputs)


def test_a_sum_of_no_rows_keeps_its_sign_of_zero():
    text = lowered(
        lambda i, x, y: x.at[i].add(y), array(1100, dtype="int32"), array(3), array(1100)
    )
    _, rewritten = with_kernels("kernel-scatter-add", text)
    inputs = [np.zeros(1100, np.int32), np.full(3, -0.0, np.float32), np.ones(1100, np.float32)]
    (result,) = outputs_of(rewritten, inputs)
    assert result.tolist() == [1100, 0, 0]
    assert np.signbit(result).tolist() == [False, True, True]
