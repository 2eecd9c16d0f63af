"""Difference of two arrays."""

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from hlograph.execution.equivalence.rounding import RoundingBound
from hlograph.execution.equivalence.verdict import Sensitivity, difference, judge, root_mean_square

FLOATS = arrays_of.arrays(
    np.float32, st.integers(1, 20), elements=st.floats(width=32, allow_subnormal=False)
)


@given(FLOATS)
def test_an_array_is_bitwise_itself(array):
    found = difference(array, array.copy(), "f32")
    assert found.bitwise
    assert found.misplaced == 0
    assert found.relative == 0.0


@given(FLOATS, st.integers(0, 19), st.sampled_from([np.nan, np.inf, -np.inf]))
def test_a_nan_or_infinity_out_of_place_is_counted(array, position, value):
    array[position % array.size] = 1.0
    other = array.copy()
    other[position % array.size] = value
    for found in (difference(array, other, "f32"), difference(other, array, "f32")):
        assert found.misplaced == 1
        assert not found.bitwise


def test_payloads_and_signs_of_nans_do_not_count():
    nans = np.array([0x7FC00000, 0xFFC00001], np.uint32).view(np.float32)
    assert difference(nans, nans[::-1].copy(), "f32").bitwise


def test_zeros_of_other_sign_are_not_bitwise_but_no_error():
    found = difference(np.zeros(2, np.float32), -np.zeros(2, np.float32), "f32")
    assert not found.bitwise
    assert found.relative == 0.0


@pytest.mark.parametrize(
    ("name", "dtype"), [("f32", np.float32), ("f64", np.float64), ("bf16", ml_dtypes.bfloat16)]
)
def test_one_epsilon_is_one_ulp(name, dtype):
    one = np.ones(3, dtype)
    other = (one.astype(np.float64) * (1 + float(ml_dtypes.finfo(dtype).eps))).astype(dtype)
    assert difference(one, other, name).ulp == pytest.approx(1.0, rel=0.01)


def test_small_elements_are_held_against_their_neighbours():
    reference = np.array([1.0, 1.0, 1e-9], np.float32)
    found = difference(reference, np.array([1.0, 1.0, 3e-9], np.float32), "f32")
    assert found.relative < 1e-8


def test_complex_numbers_are_compared_part_by_part():
    one = np.array([1 + 1j], np.complex64)
    assert difference(one, np.array([complex(1, np.nan)], np.complex64), "c64").misplaced == 1
    assert difference(one, np.array([1 - 1j], np.complex64), "c64").relative == 2.0


def test_root_mean_square_does_not_overflow():
    assert root_mean_square(np.full(4, 1e200)) == pytest.approx(1e200)


CALM = Sensitivity(0, 1e-7, 1e-7)


def judged(found, sensitive=CALM):
    return judge(0, found, sensitive, RoundingBound(8e-6, math.inf, 1.0), 1.2e-7).verdict


def test_judgement():
    one = np.ones(4, np.float32)
    near = difference(one, one * np.float32(1 + 1e-6), "f32")
    far = difference(one, one * np.float32(1.2), "f32")
    assert judged(near) == "close"
    assert judged(far) == "different"
    chaotic = Sensitivity(0, 1.0, 1.0)
    assert judged(near, chaotic) == "close"
    assert judged(far, chaotic) == "not comparable"


def test_judgement_of_integers():
    found = difference(np.arange(4), np.arange(1, 5), "s64")
    assert found.misplaced == 4
    assert judged(found) == "different"
    assert judged(found, Sensitivity(2, 0.0, 0.0)) == "not comparable"
