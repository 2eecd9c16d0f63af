"""Compiled modules: kernels, errors and timing."""

import time

import numpy as np
import pytest

from hlograph import HloError, Module
from hlograph.execution.equivalence import Limits
from hlograph.execution.executable import Executable, random_inputs, time_in_turn
from tests.tiny_module import COUNTED_LOOP


def module(body: str, computations: str = "") -> Module:
    return Module.from_text(f"HloModule m\n{computations}ENTRY e {{\n{body}\n}}")


ONE_LOOP = module("x = f32[64] parameter(0)\n t = f32[64] tanh(x)\n ROOT y = f32[64] negate(t)")
DOTS = module(
    """x = f32[8,8] parameter(0)
    d = f32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    t = f32[8,8] tanh(d)
    ROOT e = f32[8,8] dot(t, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}"""
)
LESS = """less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT }
"""
SORT = module(
    "x = f32[100000] parameter(0)\n ROOT s = f32[100000] sort(x), dimensions={0}, to_apply=less",
    LESS,
)
NEGATE = module("x = f32[100000] parameter(0)\n ROOT y = f32[100000] negate(x)")


@pytest.mark.parametrize(("made", "kernels"), [(ONE_LOOP, 1), (DOTS, 3)])
def test_kernels_are_fused_loops_and_library_calls(made, kernels):
    assert Executable(made).kernels == kernels


def test_a_loop_s_kernels_count_once_however_often_it_runs():
    rounds = [
        Executable(Module.from_text(COUNTED_LOOP.replace("(10)", n))) for n in ("(9)", "(90)")
    ]
    assert rounds[0].kernels == rounds[1].kernels >= 2


def test_a_slower_module_takes_longer():
    first, second = Executable(SORT), Executable(NEGATE)
    times = time_in_turn(first, second, random_inputs(SORT), pairs=5)
    assert times.shape == (5, 2)
    assert times.dtype == np.float64
    assert times.min() > 0
    assert np.median(times[:, 0] / times[:, 1]) > 5
    assert first.compile_seconds > 0


def test_time_that_is_up_ends_with_the_pair_that_is_under_way():
    both = Executable(SORT), Executable(NEGATE)
    assert len(time_in_turn(*both, random_inputs(SORT), pairs=1000, max_seconds=0.0)) == 1


def test_a_sample_of_short_runs_has_many():
    both = Executable(ONE_LOOP), Executable(ONE_LOOP)
    begun = time.perf_counter()
    times = time_in_turn(*both, random_inputs(ONE_LOOP), pairs=2, sample_seconds=0.01)
    # Four samples, and each value is that of one run.
    assert time.perf_counter() - begun > 0.03
    assert times.min() < 0.005


def test_inputs_hang_on_the_seed_alone():
    first, again, other = (random_inputs(ONE_LOOP, seed)[0] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        (Limits(memory=100), "arrays take"),
        (Limits(compiled_ops=2), "instructions"),
        (Limits(flops=10), "flops"),
    ],
)
def test_what_takes_more_than_it_may_is_not_compiled(limits, what):
    with pytest.raises(HloError, match=what):
        Executable(DOTS, limits)


def test_what_one_cpu_cannot_run_is_named():
    call = 'x = f32[4] parameter(0)\n ROOT y = f32[4] custom-call(x), custom_call_target="nowhere"'
    with pytest.raises(HloError, match="nowhere"):
        Executable(module(call))


def test_executables_and_inputs_have_to_fit():
    one, dots = Executable(ONE_LOOP), Executable(DOTS)
    inputs = random_inputs(ONE_LOOP)
    with pytest.raises(ValueError, match="the same parameters and results"):
        time_in_turn(one, dots, inputs)
    with pytest.raises(ValueError, match="shapes"):
        time_in_turn(one, one, random_inputs(DOTS))
    with pytest.raises(ValueError, match="at least 1 pair"):
        time_in_turn(one, one, inputs, pairs=0)
    with pytest.raises(HloError):
        time_in_turn(one, one, [inputs[0].astype(np.float64)])
