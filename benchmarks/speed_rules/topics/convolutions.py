"""Rules about convolutions, their gradients, and transposed ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.convolution import Axis, HloConvolution, draw_axes, draw_convolution
from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program

_LAYOUTS = {
    "NHWC": ("NHWC", "HWIO", "NHWC"),
    "NCHW": ("NCHW", "OIHW", "NCHW"),
    "NHC": ("NHC", "HIO", "NHC"),
}


def convolved(
    x: jax.Array,
    kernel: jax.Array,
    *,
    groups: int = 1,
    stride: int | tuple[int, ...] = 1,
    padding: str | Sequence[tuple[int, int]] = "SAME",
    dilation: tuple[int, ...] | None = None,
    layout: str = "NHWC",
) -> jax.Array:
    """Returns a convolution of groups of channels."""
    return lax.conv_general_dilated(
        x,
        kernel,
        (stride,) * (x.ndim - 2) if isinstance(stride, int) else stride,
        padding,
        rhs_dilation=dilation,
        dimension_numbers=_LAYOUTS[layout],
        feature_group_count=groups,
    )


def upsampled(x: jax.Array, kernel: jax.Array, *, stride: int, layout: str = "NHWC") -> jax.Array:
    """Returns a transposed convolution."""
    strides = (stride,) * (x.ndim - 2)
    return lax.conv_transpose(x, kernel, strides, "SAME", dimension_numbers=_LAYOUTS[layout])


def kernel_gradient(
    x: jax.Array,
    kernel: jax.Array,
    change: jax.Array,
    *,
    forward: Callable[..., jax.Array] = convolved,
    **options: Any,
) -> jax.Array:
    """Returns the gradient of the kernel of a convolution, from that of its result."""
    return jax.vjp(lambda kernel: forward(x, kernel, **options), kernel)[1](change)[0]


def input_gradient(x: jax.Array, kernel: jax.Array, change: jax.Array, **options: Any) -> jax.Array:
    """Returns the gradient of the input of a convolution, from that of its result."""
    return jax.vjp(lambda x: convolved(x, kernel, **options), x)[1](change)[0]


upsampled_kernel_gradient = partial(kernel_gradient, forward=upsampled)


def activated(series: jax.Array, kernel: jax.Array, bias: jax.Array) -> jax.Array:
    """Returns a causal depthwise convolution over time with a bias and an activation."""
    past = [(kernel.shape[0] - 1, 0)]
    y = convolved(series, kernel, groups=series.shape[-1], padding=past, layout="NHC")
    return jax.nn.silu(y + bias)


def wide_block(
    images: jax.Array, kernel: jax.Array, scale: jax.Array, inner: jax.Array, outer: jax.Array
) -> jax.Array:
    """Returns a block of ConvNeXt: a depthwise convolution, a normalisation and two products."""
    x = convolved(images, kernel, groups=images.shape[-1])
    x = x - x.mean(axis=-1, keepdims=True)
    x = scale * x * lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-6)
    return images + jax.nn.gelu(x @ inner) @ outer


def blurred(images: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns images of one channel blurred along one axis, then along the other."""
    x = lax.conv(images[:, None], weights[None, None, :, None], (1, 1), "SAME")
    return lax.conv(x, weights[None, None, None, :], (1, 1), "SAME")[:, 0]


IMAGES = (Axis(), Axis())


def draw_dot(rng: Random) -> str:
    """Draws convolutions of one tap, or of one position, along each axis."""
    axes = []
    for axis in draw_axes(rng, reverse=0):
        if rng.random() < 0.5:
            axes.append(replace(axis, taps=1, low=abs(axis.low)))
        else:
            extra = (axis.taps - 1) * axis.dilation + 1 - axis.size - axis.low
            axes.append(replace(axis, high=extra + rng.randint(0, axis.stride - 1)))
    return draw_convolution(rng, axes, channels=rng.randint(1, 3), features=rng.randint(1, 3))


def draw_kernel_gradient(rng: Random) -> str:
    """Draws convolutions of many taps and few positions, as gradients of kernels are."""
    axes = []
    for axis in draw_axes(rng, most=2, reverse=0):
        low, high = rng.choice([(0, 0), (0, -1), (-1, 0), (1, -1)])
        axes.append(replace(axis, size=6, taps=4, dilation=1, stride=1, low=low, high=high))
    return draw_convolution(
        rng, axes, batch=rng.randint(1, 3), channels=rng.randint(1, 3), features=rng.randint(1, 3)
    )


def draw_grouped_gradient(rng: Random) -> str:
    """Draws convolutions of groups of several images, as gradients of grouped kernels are."""
    groups = rng.randint(2, 3)
    return draw_convolution(
        rng,
        draw_axes(rng, most=2, reverse=0),
        batch=groups * rng.randint(2, 3),
        channels=rng.randint(1, 2),
        features=groups * rng.randint(1, 3),
        batch_groups=groups,
    )


def draw_spread(rng: Random) -> str:
    """Draws convolutions with gaps between the elements of the input, as transposed ones have."""
    first, *rest = draw_axes(rng, most=2, gaps=3, taps=4)
    axes = [replace(first, gaps=rng.randint(2, 3)), *rest]
    axes = [replace(axis, size=5, stride=1 if axis.gaps > 1 else axis.stride) for axis in axes]
    groups = rng.randint(1, 2)
    return draw_convolution(
        rng,
        axes,
        channels=groups * rng.randint(1, 2),
        features=groups * rng.randint(1, 2),
        feature_groups=groups,
    )


def draw_depthwise(rng: Random) -> str:
    """Draws convolutions of each channel, with one to three features for each."""
    channels = rng.randint(1, 3)
    return draw_convolution(
        rng,
        draw_axes(rng),
        batch=rng.randint(1, 2),
        channels=channels,
        features=channels * rng.randint(1, 3),
        feature_groups=channels,
    )


def draw_grouped(rng: Random) -> str:
    """Draws convolutions of groups of two or three channels."""
    (first, *rest), groups = draw_axes(rng, most=2), rng.randint(1, 3)
    return draw_convolution(
        rng,
        (replace(first, taps=2, low=1, high=1), *rest),
        batch=rng.randint(1, 2),
        channels=groups * rng.randint(2, 3),
        features=groups * rng.randint(1, 3),
        feature_groups=groups,
    )


def draw_depthwise_gradient(rng: Random) -> str:
    """Draws convolutions of groups of one image, as gradients of depthwise kernels are."""
    groups = rng.randint(2, 3)
    return draw_convolution(
        rng,
        draw_axes(rng, most=2, reverse=0),
        batch=groups,
        channels=rng.randint(1, 3),
        features=groups * rng.randint(1, 2),
        batch_groups=groups,
    )


def _text(
    sizes: tuple[int, ...],
    taps: tuple[int, ...],
    *,
    batch: int = 2,
    channels: int = 3,
    groups: int = 1,
    dtype: str = "float32",
    **options: Any,
) -> str:
    """Returns the gradient of the input of a convolution with the channels in the last place."""
    spatial = "HW"[: len(sizes)]
    forward = partial(convolved, groups=groups, layout=f"N{spatial}C", **options)
    x = array(batch, *sizes, channels, dtype=dtype)
    kernel = array(*taps, channels // groups, 4, dtype=dtype)
    result = array(*jax.eval_shape(forward, x, kernel).shape, dtype=dtype)

    def gradient(kernel: jax.Array, change: jax.Array) -> jax.Array:
        return jax.linear_transpose(lambda x: forward(x, kernel), x)(change)[0]

    return lowered(gradient, kernel, result)


def gradients(rng: Random) -> str:
    """Draws gradients of inputs of one or two spatial dimensions."""
    rank = rng.randint(1, 2)

    def pick(*values: int) -> tuple[int, ...]:
        return tuple(rng.choice(values) for _ in range(rank))

    taps = pick(2, 3, 5)
    return _text(
        pick(6, 7, 9),
        taps,
        batch=rng.randint(1, 3),
        dtype=rng.choice(["float32", "float64"]),
        stride=pick(1, 2),
        padding=rng.choice(["SAME", [(1, 1)] * rank, [(0, 2)] * rank]),
        dilation=(1,) * rank if max(taps) > 3 else pick(1, 2),
    )


def transposed_kernels(rng: Random) -> str:
    """Draws convolutions with kernels whose features are those of the input."""
    x = array(rng.randint(1, 3), rng.randint(5, 8), rng.randint(5, 8), 3)
    kernel = array(rng.randint(1, 3), rng.randint(2, 3), 4, 3)
    layout = ("NHWC", "HWOI", rng.choice(["NHWC", "NCHW", "HNWC"]))
    function = partial(
        lax.conv_general_dilated,
        window_strides=(1, 1),
        padding="SAME",
        dimension_numbers=layout,
    )
    return lowered(function, x, kernel)


PROGRAMS: Programs = {
    "transposed-convolution-as-phases": draw_spread,
    "convolution-as-dot": draw_dot,
    "grouped-gradient:kernel": draw_grouped_gradient,
    "convolution-gradient:kernel": draw_kernel_gradient,
    "depthwise-as-products": draw_depthwise,
    "grouped-as-products": draw_grouped,
    "depthwise-gradient:kernel": draw_depthwise_gradient,
    "convolution-gradient:input": lambda rng: rng.choice((gradients, transposed_kernels))(rng),
}


REFUSED: Refused = {
    "transposed-convolution-as-phases": {
        "without gaps": HloConvolution(IMAGES).text,
        "with gaps and a stride": HloConvolution((Axis(gaps=2, stride=2),)).text,
        "with many gaps": HloConvolution((Axis(gaps=5), Axis(gaps=4))).text,
    },
    "convolution-as-dot": {
        "of two positions and two taps": HloConvolution(
            (Axis(taps=2, size=3, low=0, high=0), Axis(taps=1))
        ).text,
        "of groups": HloConvolution((Axis(taps=1, low=0, high=0),), feature_groups=3).text,
        "of one tap, with gaps": HloConvolution((Axis(taps=1, gaps=2),)).text,
    },
    "grouped-gradient:kernel": {
        "of one channel in each group": HloConvolution(IMAGES, batch=3, batch_groups=3).text,
        "of a reversed kernel": HloConvolution((Axis(reverse=1),), batch=6, batch_groups=3).text,
    },
    "convolution-gradient:kernel": {
        "of as many positions as taps": HloConvolution((Axis(taps=3, size=3),)).text,
        "of many positions": HloConvolution((Axis(taps=20, size=36, low=0, high=0),)).text,
    },
    "depthwise-as-products": {
        "of two channels each": HloConvolution(
            IMAGES, channels=6, features=6, feature_groups=3
        ).text,
        "of too many taps": HloConvolution((Axis(size=90, taps=81),), feature_groups=3).text,
        "of 16 bits of integers": HloConvolution(IMAGES, feature_groups=3, kind="s16").text,
    },
    "grouped-as-products": {
        "of one channel each": HloConvolution(IMAGES, feature_groups=3).text,
        "of one tap of one group": HloConvolution((Axis(taps=1),)).text,
        "of many channels": HloConvolution(IMAGES, channels=20, features=4, feature_groups=2).text,
        "of many channels of one group": HloConvolution(IMAGES, channels=4).text,
    },
    "depthwise-gradient:kernel": {
        "of groups of two images": HloConvolution(IMAGES, batch=6, batch_groups=3).text,
        "of one image": HloConvolution(IMAGES, batch=1).text,
    },
    "convolution-gradient:input": {
        "the convolution itself": program(convolved, "2x6x6x3 3x3x3x4"),
        "a gradient of groups": lambda: _text((6, 6), (3, 3), channels=4, groups=2),
        "a gradient of large images": lambda: _text((64, 64), (3, 3)),
        "a gradient of one tap": lambda: _text((6, 6), (1, 1)),
        "a gradient in half precision": lambda: _text((6, 6), (3, 3), dtype="bfloat16"),
    },
}
