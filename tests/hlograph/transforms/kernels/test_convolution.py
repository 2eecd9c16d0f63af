"""Convolutions by a native kernel that need several parts, beside XLA's."""

from functools import partial

import jax
import numpy as np
import pytest

import hlograph
from benchmarks.speed_rules.lowering import array, lowered
from benchmarks.speed_rules.topics.convolutions import (
    convolved,
    input_gradient,
    kernel_gradient,
)
from hlograph.execution.equivalence.arrays import signature_of
from tests.hlograph.transforms.kernels.kernel_checks import outputs_of, with_kernels

VALID = {"padding": "VALID"}
LARGE = {
    "many taps and channels": (partial(convolved, **VALID), (1, 4, 5, 512), (3, 3, 512, 70)),
    "rows in parts": (convolved, (2, 90, 60, 40), (3, 3, 40, 33)),
    "a strided series": (partial(convolved, stride=3, layout="NHC"), (3, 5000, 20), (7, 20, 16)),
    "spread taps": (partial(convolved, dilation=(2, 3)), (1, 40, 40, 64), (3, 3, 64, 48)),
    "channels before space": (partial(convolved, layout="NCHW"), (2, 32, 33, 31), (40, 32, 3, 3)),
    "each channel": (partial(convolved, groups=72), (2, 90, 60, 72), (3, 3, 1, 72)),
    "each channel of a series": (
        partial(convolved, groups=40, padding=[(6, 0)], dilation=(2,), layout="NHC"),
        *((3, 900, 40), (4, 1, 40)),
    ),
    "gradient of the input of each channel": (
        partial(input_gradient, groups=40),
        *((2, 30, 30, 40), (5, 5, 1, 40), (2, 30, 30, 40)),
    ),
    "gradient of the kernel of each channel": (
        partial(kernel_gradient, groups=72),
        *((3, 90, 70, 72), (3, 3, 1, 72), (3, 90, 70, 72)),
    ),
    "gradient of the input": (input_gradient, (2, 40, 40, 24), (5, 5, 24, 72), (2, 40, 40, 72)),
    "gradient of the kernel": (kernel_gradient, (3, 90, 70, 20), (3, 3, 20, 72), (3, 90, 70, 72)),
    "strided gradient of the kernel": (
        partial(kernel_gradient, stride=2),
        *((2, 61, 50, 32), (3, 3, 32, 40), (2, 31, 25, 40)),
    ),
    "gradient of the kernel of a long series": (
        partial(kernel_gradient, layout="NHC"),
        *((2, 9000, 16), (3, 16, 24), (2, 9000, 24)),
    ),
}
"""Functions and shapes: of more than one part of rows, taps, features or channels."""


@pytest.mark.parametrize(("function", "shapes"), [(f, s) for f, *s in LARGE.values()], ids=LARGE)
def test_convolutions_in_parts(function, shapes):
    module, rewritten = with_kernels(
        "kernel-convolution", lowered(function, *(array(*shape) for shape in shapes))
    )
    rng = np.random.default_rng(0)
    # Of a few bits, so that sums of any order are exact.
    inputs = [
        rng.integers(-3, 4, spec.dims).astype(np.float32)
        for spec in signature_of(module).parameters
    ]
    (expected,), (result,) = (outputs_of(each, inputs) for each in (module, rewritten))
    assert np.abs(expected).max() > 0
    np.testing.assert_array_equal(result, expected)


def test_a_convolution_refuses_a_kernel_of_other_channels():
    text = lowered(convolved, array(1, 8, 8, 16), array(3, 3, 16, 32))
    _, rewritten = with_kernels("kernel-convolution", text)
    wrong = rewritten.to_text().replace("f32[3,3,16,32]", "f32[3,3,15,32]")
    inputs = [np.zeros((1, 8, 8, 16), np.float32), np.zeros((3, 3, 15, 32), np.float32)]
    with pytest.raises(jax.errors.JaxRuntimeError, match="of a convolution along one or two"):
        outputs_of(hlograph.Module.from_text(wrong), inputs)
