"""Cases of convolutions of each channel, and of groups of channels."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.case import Case
from benchmarks.speed_rules.convolution_case import (
    CHANNELS_FIRST,
    SERIES,
    by_channel,
    case,
    convolved,
    input_gradient,
    kernel_gradient,
)


def activated(series: jax.Array, kernel: jax.Array, bias: jax.Array) -> jax.Array:
    """Returns a causal depthwise convolution over time with a bias and an activation."""
    past = [(kernel.shape[0] - 1, 0)]
    y = convolved(series, kernel, groups=series.shape[-1], padding=past, layout=SERIES)
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


DEPTHWISE = (
    case(
        "depthwise-as-products",
        "2x28x28x96, 3x3, NHWC",
        by_channel(96),
        (2, 28, 28, 96),
        (3, 3, 1, 96),
        program="depthwise-convolution/plain/b2-n28-c96",
    ),
    case(
        "depthwise-as-products",
        "4x512x256, 4 taps over time",
        activated,
        (4, 512, 256),
        (4, 1, 256),
        (256,),
        program="depthwise-convolution/causal/b4-t512-c256",
    ),
    case(
        "depthwise-as-products",
        "2x28x28x96, 7x7, block with two dots",
        wide_block,
        (2, 28, 28, 96),
        (7, 7, 1, 96),
        (96,),
        (96, 384),
        (384, 96),
        program="depthwise-convolution/wide-block/b2-n28-c96",
    ),
    case(
        "depthwise-as-products",
        "1x14x14x88, 5x5, NHWC",
        by_channel(88),
        (1, 14, 14, 88),
        (5, 5, 1, 88),
        program="nasnet/keras-mobile-224px/forward-b1",
    ),
    case(
        "depthwise-as-products",
        "1x112x112x96, 3x3, stride 2, NHWC",
        by_channel(96, stride=2),
        (1, 112, 112, 96),
        (3, 3, 1, 96),
        program="mobilenet/keras-v2-224px/forward-b1",
    ),
    case(
        "depthwise-as-products",
        "2x64x56x56, 3x3, NCHW",
        by_channel(64, layout=CHANNELS_FIRST),
        (2, 64, 56, 56),
        (64, 1, 3, 3),
    ),
    case(
        "depthwise-as-products",
        "2x28x28x64, 3x3, two features for each channel",
        by_channel(64),
        (2, 28, 28, 64),
        (3, 3, 1, 128),
    ),
    case(
        "depthwise-as-products",
        "8x256x256, 13 taps along each axis",
        blurred,
        (8, 256, 256),
        (13,),
        program="image-processing/gaussian/b8-n256",
    ),
    case(
        "depthwise-as-products",
        "8x64x64x1 to 32 features, 3x3",
        convolved,
        (8, 64, 64, 1),
        (3, 3, 1, 32),
        program="cnn/flax-w32x64x128-b8-64px/train-adam",
    ),
    case(
        "depthwise-as-products",
        "4x28x28x96, 3x3, gradient of the input",
        input_gradient(by_channel(96)),
        (4, 28, 28, 96),
        (3, 3, 1, 96),
        (4, 28, 28, 96),
        program="mobilenet/keras-v1-128px/fit-adamw-b4",
    ),
    *(
        case(
            rules,
            "4x28x28x96, 3x3, stride 2, gradient of the input",
            input_gradient(by_channel(96, stride=2)),
            (4, 28, 28, 96),
            (3, 3, 1, 96),
            (4, 14, 14, 96),
            program="mobilenet/keras-v2-96px/train-sgdm-b4",
        )
        for rules in (
            "depthwise-as-products",
            ("transposed-convolution-as-phases", "depthwise-as-products"),
        )
    ),
)

GROUPED = (
    case(
        "grouped-as-products",
        "2x28x28x128, 32 groups, 3x3",
        partial(convolved, groups=32),
        (2, 28, 28, 128),
        (3, 3, 4, 128),
    ),
    case(
        "grouped-as-products",
        "2x28x28x128, 16 groups, 3x3",
        partial(convolved, groups=16),
        (2, 28, 28, 128),
        (3, 3, 8, 128),
        program="depthwise-convolution/grouped/b2-n28-c128",
    ),
    case(
        "grouped-as-products",
        "1x224x224x3 to 32 features, 3x3, stride 2",
        partial(convolved, stride=2),
        (1, 224, 224, 3),
        (3, 3, 3, 32),
        program="mobilenet/keras-v2-224px/forward-b1",
    ),
    case(
        "grouped-as-products",
        "1x96x96x3 to 32 features, 3x3",
        convolved,
        (1, 96, 96, 3),
        (3, 3, 3, 32),
    ),
)

GRADIENTS = (
    case(
        "depthwise-gradient:kernel",
        "4x8x8x512, 3x3",
        kernel_gradient(by_channel(512)),
        (4, 8, 8, 512),
        (3, 3, 1, 512),
        (4, 8, 8, 512),
        program="mobilenet/keras-v1-128px/fit-adamw-b4",
    ),
    case(
        "depthwise-gradient:kernel",
        "4x56x56x64, 3x3, stride 2",
        kernel_gradient(by_channel(64, stride=2)),
        (4, 56, 56, 64),
        (3, 3, 1, 64),
        (4, 28, 28, 64),
        program="mobilenet/keras-v2-96px/train-sgdm-b4",
    ),
    case(
        "depthwise-gradient:kernel",
        "2x256x256, 4 taps over time",
        kernel_gradient(by_channel(256, padding=[(3, 0)], layout=SERIES)),
        (2, 256, 256),
        (4, 1, 256),
        (2, 256, 256),
        program="mamba/flax-l2-h128-b2-s256/train-adamw",
    ),
    case(
        "depthwise-gradient:kernel",
        "2x64x28x28, 3x3, NCHW",
        kernel_gradient(by_channel(64, layout=CHANNELS_FIRST)),
        (2, 64, 28, 28),
        (64, 1, 3, 3),
        (2, 64, 28, 28),
    ),
)

CASES: tuple[Case, ...] = (*DEPTHWISE, *GROUPED, *GRADIENTS)
