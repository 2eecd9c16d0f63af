"""Random inputs fit the way parameters are used."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlograph import Module
from hlograph.execution.equivalence.arrays import signature_of
from hlograph.execution.equivalence.flow import Flow
from hlograph.execution.equivalence.inputs import InputMaker, perturbed


def maker(body: str, computations: str = "") -> InputMaker:
    module = Module.from_text(f"HloModule m\n{computations}ENTRY e {{\n{body}\n}}")
    return InputMaker(Flow(module.graph()), signature_of(module).parameters)


# What a gather of rows looks like after jax: the sign is put right, in a function.
TAKE = """take {
  rows = f32[7,3] parameter(0)
  i = s32[40] parameter(1)
  zero = s32[] constant(0)
  zeros = s32[40] broadcast(zero), dimensions={}
  negative = pred[40] compare(i, zeros), direction=LT
  seven = s32[] constant(7)
  sevens = s32[40] broadcast(seven), dimensions={}
  wrapped = s32[40] add(i, sevens)
  j = s32[40] select(negative, wrapped, i)
  k = s32[40,1] reshape(j)
  ROOT r = f32[40,3] gather(rows, k), offset_dims={1}, collapsed_slice_dims={0},
    start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}
}
"""


@given(seed=st.integers(0, 2**32), sample=st.integers(0, 1000))
def test_indices_are_in_range_through_calls_and_tuples(seed, sample):
    inputs = maker(
        """p = (s64[40], f32[7,3]) parameter(0)
        wide = s64[40] get-tuple-element(p), index=0
        i = s32[40] convert(wide)
        x = f32[7,3] get-tuple-element(p), index=1
        ROOT r = f32[40,3] call(x, i), to_apply=take""",
        TAKE,
    )
    indices, rows = inputs.make(seed, sample)
    assert indices.dtype == np.int64
    assert 0 <= indices.min() <= indices.max() <= 6
    assert rows.shape == (7, 3)


@pytest.mark.parametrize(
    ("operation", "bound"),
    [
        ("f32[4] dynamic-slice(x, i), dynamic_slice_sizes={4}", 97),
        ("f32[100] dynamic-update-slice(x, u, i)", 90),
        (
            "f32[100] scatter(x, i, s), update_window_dims={}, inserted_window_dims={0}, "
            "scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=add",
            100,
        ),
    ],
)
def test_each_user_of_indices_has_its_bound(operation, bound):
    inputs = maker(
        f"""i = s32[] parameter(0)
        x = f32[100] parameter(1)
        u = f32[11] parameter(2)
        s = f32[] parameter(3)
        ROOT r = {operation}""",
        "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n",
    )
    assert inputs.uses[0].bounds == [bound]
    drawn = {int(inputs.make(0, sample)[0]) for sample in range(300)}
    assert max(drawn) < bound
    assert len(drawn) > bound // 3


def test_labels_are_below_the_length_of_the_iota_they_are_compared_with():
    inputs = maker(
        """label = s32[64] parameter(0)
        wide = s32[64,10] broadcast(label), dimensions={0}
        classes = s32[10] iota(), iota_dimension=0
        all = s32[64,10] broadcast(classes), dimensions={1}
        ROOT hot = pred[64,10] compare(wide, all), direction=EQ"""
    )
    assert set(inputs.make(0, 0)[0].tolist()) == set(range(10))


def test_keys_use_all_their_bits():
    inputs = maker(
        "k = u32[64] parameter(0)\n s = u32[] constant(13)\n"
        " t = u32[64] broadcast(s), dimensions={}\n"
        " ROOT r = u32[64] shift-left(k, t)"
    )
    assert inputs.make(0, 0)[0].max() > 2**31


@pytest.mark.parametrize(("element_type", "low", "high"), [("s64", -1, 1), ("u64", 0, 2)])
def test_keys_of_64_bits_use_all_of_them(element_type, low, high):
    inputs = maker(f"k = {element_type}[64] parameter(0)\n ROOT r = {element_type}[64] xor(k, k)")
    values = [int(value) / 2**63 for value in inputs.make(0, 0)[0]]
    assert low <= min(values) < low + 0.5
    assert high - 0.5 < max(values) < high


@pytest.mark.parametrize("operation", ["log", "sqrt", "rsqrt", "log-plus-one"])
def test_arguments_are_in_the_domain(operation):
    inputs = maker(
        f"""x = f32[200] parameter(0)
        g = f32[200] parameter(1)
        d = f32[] constant(0.9)
        ds = f32[200] broadcast(d), dimensions={{}}
        y = f32[200] multiply(x, ds)
        square = f32[200] multiply(g, g)
        z = f32[200] add(y, square)
        ROOT r = f32[200] {operation}(z)"""
    )
    moment, gradient = inputs.make(0, 0)
    assert 0 < moment.min() < moment.max() < 1
    assert gradient.min() < 0  # what is squared may have any sign


def test_matrices_to_decompose_are_positive_definite():
    inputs = maker("x = f32[3,9,9] parameter(0)\n ROOT r = f32[3,9,9] cholesky(x), lower=true")
    (matrices,) = inputs.make(0, 0)
    np.testing.assert_array_equal(matrices, np.swapaxes(matrices, 1, 2))
    assert np.linalg.eigvalsh(matrices).min() > 0.5


def test_weights_keep_the_size_of_what_they_multiply():
    inputs = maker(
        "x = f32[4,1024] parameter(0)\n w = f32[1024,8] parameter(1)\n"
        " ROOT r = f32[4,8] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    )
    x, w = inputs.make(0, 0)
    assert np.std(x @ w) < 2


def test_every_type_that_xla_has_gets_its_values():
    names = "pred s8 s16 s32 s64 u8 u16 u32 u64 s4 u4 f16 bf16 f32 f64 c64 c128 f8e4m3fn f8e5m2"
    body = "\n".join(f"p{i} = {t}[5] parameter({i})" for i, t in enumerate(names.split()))
    module = Module.from_text(f"HloModule m\nENTRY e {{\n{body}\n ROOT r = pred[5] not(p0)\n}}")
    specs = signature_of(module).parameters
    inputs = InputMaker(Flow(module.graph()), specs).make(0, 0)
    assert [array.shape for array in inputs] == [(5,)] * len(names.split())
    moved = perturbed(inputs, specs, 0)
    for spec, array, other in zip(specs, inputs, moved, strict=True):
        assert array.dtype == other.dtype
        is_float = spec.element_type[0] in "fbc"
        assert np.array_equal(array, other) != is_float, spec


def test_samples_and_seeds_differ_and_repeat():
    inputs = maker("x = f32[16] parameter(0)\n ROOT r = f32[16] negate(x)")
    first = inputs.make(1, 0)[0]
    np.testing.assert_array_equal(first, inputs.make(1, 0)[0])
    assert not np.array_equal(first, inputs.make(1, 1)[0])
    assert not np.array_equal(first, inputs.make(2, 0)[0])
