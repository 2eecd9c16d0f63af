"""Small programs of convolutions: see ``calibration_programs``."""

from __future__ import annotations

from typing import Any

import jax
from jax import lax

from hlograph.profiling.small_program import Function, Programs, floats, integers, named


def _convolve(stride: int = 1, **options: Any) -> Function:
    def convolve(x: jax.Array, kernel: jax.Array) -> jax.Array:
        rank = x.ndim - 2
        pads = [(size // 2, size // 2) for size in kernel.shape[:rank]]
        numbers = ("NHWC", "HWIO", "NHWC") if rank == 2 else ("NWC", "WIO", "NWC")
        return lax.conv_general_dilated(
            *(x, kernel, (stride,) * rank, pads),
            dimension_numbers=numbers,
            **options,
        )

    return convolve


def _gradient_of(convolve: Function) -> Function:
    return jax.grad(lambda kernel, x: (convolve(x, kernel) ** 2).sum())


def convolutions() -> Programs:
    """Yields dense convolutions and gradients of their kernels."""
    for batch, size, inputs, taps, outputs in (
        *((1, 32, 64, 3, 64), (4, 56, 64, 3, 64), (8, 14, 256, 3, 256), (2, 28, 128, 1, 256)),
        *((1, 64, 16, 5, 16), (1, 8, 8, 3, 8), (1, 128, 3, 3, 32)),
    ):
        x, kernel = floats(batch, size, size, inputs), floats(taps, taps, inputs, outputs)
        yield named("convolution", _convolve(), x, kernel)
    x, kernel = floats(1, 224, 224, 3), floats(7, 7, 3, 64)
    yield named("strided convolution", _convolve(stride=2), x, kernel)
    for shape, taps in (((1, 256, 256, 1), (13, 1)), ((4, 128, 128, 1), (5, 5))):
        x, kernel = floats(*shape), floats(*taps, 1, 1)
        yield named("convolution of one channel", _convolve(), x, kernel)
    for size, channels in ((32, 16), (28, 64), (64, 8)):
        x, kernel = floats(4, size, size, channels), floats(3, 3, channels, channels)
        yield named("gradient of a convolution", _gradient_of(_convolve()), kernel, x)
    for length, inputs, outputs in ((1024, 64, 64), (16000, 1, 32), (256, 256, 256)):
        x, kernel = floats(1, length, inputs), floats(5, inputs, outputs)
        yield named("convolution of a sequence", _convolve(), x, kernel)


def dilated_convolutions() -> Programs:
    """Yields convolutions with gaps, and gradients of strided ones."""
    for size, channels in ((16, 64), (32, 64), (56, 32)):
        x, kernel = floats(1, size, size, channels), floats(3, 3, channels, channels)
        transposed = _convolve(lhs_dilation=(2, 2))
        yield named("transposed convolution", transposed, x, kernel)
        yield named("gradient of a transposed kernel", _gradient_of(transposed), kernel, x)
        yield named("dilated convolution", _convolve(rhs_dilation=(2, 2)), x, kernel)
        strided = _convolve(stride=2)
        yield named("gradient of a strided kernel", _gradient_of(strided), kernel, x)
        gradient = jax.grad(lambda x, kernel, f=strided: (f(x, kernel) ** 2).sum())
        yield named("gradient of a strided input", gradient, x, kernel)


def grouped_convolutions() -> Programs:
    """Yields depthwise and grouped convolutions, and convolutions of integers."""
    for size, channels in ((14, 256), (28, 96), (56, 32), (112, 32), (7, 512)):
        x, kernel = floats(1, size, size, channels), floats(3, 3, 1, channels)
        depthwise = _convolve(feature_group_count=channels)
        yield named("depthwise", depthwise, x, kernel)
        yield named("gradient of a depthwise kernel", _gradient_of(depthwise), kernel, x)
    for size, channels, groups in ((28, 128, 4), (14, 256, 32), (56, 64, 8), (28, 64, 2)):
        x = floats(1, size, size, channels)
        kernel = floats(3, 3, channels // groups, channels)
        grouped = _convolve(feature_group_count=groups)
        yield named("grouped", grouped, x, kernel)
        yield named("gradient of a grouped kernel", _gradient_of(grouped), kernel, x)
    for size, channels in ((14, 16), (28, 32)):
        x = integers(9, 1, size, size, channels)
        yield named("of integers", _convolve(), x, integers(9, 3, 3, channels, channels))
