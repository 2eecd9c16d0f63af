"""Elements are compared with what their own terms allow, and rounding is no difference."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph import Module
from hlograph._native import has_engine
from hlograph.execution.equivalence.arrays import signature_of
from hlograph.execution.equivalence.elements import (
    apart,
    apart_alone,
    coarsest,
    with_moved_roundings,
    within,
)
from hlograph.measuring.evaluating import EvaluatedProgram
from hlograph.plans import Program
from hlograph.plans.jaxlib_modules import text_of
from hlograph.reading.hlo_editing import ModuleText

pytestmark = pytest.mark.skipif(not has_engine(), reason="needs the engine")


def _allowances(function, *arrays):
    program = Program.of(jax.jit(function).lower(*arrays))
    evaluated = EvaluatedProgram(program, program.flow, None)
    inputs = list(arrays)
    outputs = evaluated.run(inputs)
    return outputs, evaluated.allowances(inputs)


def _mask(function, *arrays, wrong):
    """Returns where an output with a change counts as different."""
    (output,), (allowances,) = _allowances(function, *arrays)
    return ~within(wrong(output), output, allowances)


def test_a_small_element_that_is_wrong_is_seen():
    x = np.array([1e9, 3.0, 2.0, 1.0], np.float32)

    def second_wrong(output):
        return output + np.array([0, 0.2, 0, 0], np.float32)

    output, _ = _allowances(lambda x: x * 2, x)
    assert not apart(second_wrong(output[0]), output[0]).any()
    mask = _mask(lambda x: x * 2, x, wrong=second_wrong)
    assert mask.tolist() == [False, True, False, False]


_X = np.linspace(0.1, 0.9, 64, dtype=np.float32).reshape(8, 8)


def _cancelled(x):
    return (x + 1e8) - 1e8


def _contracted(x):
    return jnp.where(x > 0.5, 1e6, x * x.T - x.T * x)


def _sine_near_zero(x):
    return jnp.sin(jnp.pi * jnp.round(8 * x)) + 1e6 * jnp.eye(8)


def _centered(x):
    centered = x - x.mean(0)
    return centered.sum(0) + 1e6 * jnp.eye(8)


def _subnormal(x):
    return jnp.exp(-100 * x) * 1e20 + 1e6 * jnp.eye(8)


@pytest.mark.parametrize(
    ("function", "change"),
    [
        (_cancelled, 8.0),  # one unit in the last place of 1e8
        (_contracted, 3e-8),  # what a fused multiply-add leaves
        (_sine_near_zero, 6e-8),
        (_centered, 2e-7),
        (_subnormal, 1e-18),  # a subnormal number taken for zero
    ],
)
def test_rounding_of_the_terms_is_no_difference(function, change):
    (output,), (allowances,) = _allowances(function, _X)
    other = (output + np.float32(change)).astype(np.float32)
    assert apart_alone(other, output).any()
    assert within(other, output, allowances).all()
    far = output + np.float32(1e3) * (np.abs(output) + np.float32(change))
    assert not within(far, output, allowances).all()


def test_modules_with_other_roundings_compute_nearly_the_same():
    def function(x):
        body = lambda n, x: jnp.sin(x @ x) + x.astype(jnp.bfloat16)  # noqa: E731
        return jax.lax.fori_loop(0, 3, body, x), jnp.sort(x, 0), jnp.fft.fft(x), x.argmax()

    module = Program.of(jax.jit(function).lower(_X)).module()
    text = ModuleText.parse(text_of(module.to_proto()))
    before = str(text)
    moved = [Module.from_text(str(with_moved_roundings(text, seed))) for seed in range(2)]
    assert str(text) == before
    assert coarsest(text) == 2.0**-7
    for each in moved:
        each.verify()
        assert signature_of(each) == signature_of(module)
    assert moved[0].fingerprint() != moved[1].fingerprint()


def test_integers_and_types_of_few_bits_are_not_moved():
    text = """HloModule coarse
ENTRY e {
  x = f8e5m2[4] parameter(0)
  n = s32[4] iota(), iota_dimension=0
  ROOT t = (f8e5m2[4], s32[4]) tuple(x, n)
}"""
    assert coarsest(ModuleText.parse(text)) == 0.0
    integers = 2**60 + np.arange(4, dtype=np.int64)
    assert not apart_alone(integers + 1, integers).any()
    assert not within(integers + 1, integers, np.zeros(4)).any()
    assert within(integers, integers, np.zeros(4)).all()
