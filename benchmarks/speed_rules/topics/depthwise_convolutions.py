"""Rules about convolutions of each channel, and of groups of channels."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.case import Cases, Programs, Refused
from benchmarks.speed_rules.convolution import (
    CHANNELS_FIRST,
    SERIES,
    Axis,
    HloConvolution,
    by_channel,
    case,
    convolved,
    draw_axes,
    draw_convolution,
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


CASES: Cases = {
    "depthwise-as-products": [
        case(
            "2x28x28x96, 3x3, NHWC",
            by_channel(96),
            (2, 28, 28, 96),
            (3, 3, 1, 96),
            program="depthwise-convolution/plain/b2-n28-c96",
        ),
        case(
            "4x512x256, 4 taps over time",
            activated,
            (4, 512, 256),
            (4, 1, 256),
            (256,),
            program="depthwise-convolution/causal/b4-t512-c256",
        ),
        case(
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
            "1x14x14x88, 5x5, NHWC",
            by_channel(88),
            (1, 14, 14, 88),
            (5, 5, 1, 88),
            program="nasnet/keras-mobile-224px/forward-b1",
        ),
        case(
            "1x112x112x96, 3x3, stride 2, NHWC",
            by_channel(96, stride=2),
            (1, 112, 112, 96),
            (3, 3, 1, 96),
            program="mobilenet/keras-v2-224px/forward-b1",
        ),
        case(
            "2x64x56x56, 3x3, NCHW",
            by_channel(64, layout=CHANNELS_FIRST),
            (2, 64, 56, 56),
            (64, 1, 3, 3),
        ),
        case(
            "2x28x28x64, 3x3, two features for each channel",
            by_channel(64),
            (2, 28, 28, 64),
            (3, 3, 1, 128),
        ),
        case(
            "8x256x256, 13 taps along each axis",
            blurred,
            (8, 256, 256),
            (13,),
            program="image-processing/gaussian/b8-n256",
        ),
        case(
            "8x64x64x1 to 32 features, 3x3",
            convolved,
            (8, 64, 64, 1),
            (3, 3, 1, 32),
            program="cnn/flax-w32x64x128-b8-64px/train-adam",
        ),
        case(
            "4x28x28x96, 3x3, gradient of the input",
            input_gradient(by_channel(96)),
            (4, 28, 28, 96),
            (3, 3, 1, 96),
            (4, 28, 28, 96),
            program="mobilenet/keras-v1-128px/fit-adamw-b4",
        ),
        case(
            "4x28x28x96, 3x3, stride 2, gradient of the input",
            input_gradient(by_channel(96, stride=2)),
            (4, 28, 28, 96),
            (3, 3, 1, 96),
            (4, 14, 14, 96),
            program="mobilenet/keras-v2-96px/train-sgdm-b4",
        ),
    ],
    "transposed-convolution-as-phases + depthwise-as-products": [
        case(
            "4x28x28x96, 3x3, stride 2, gradient of the input",
            input_gradient(by_channel(96, stride=2)),
            (4, 28, 28, 96),
            (3, 3, 1, 96),
            (4, 14, 14, 96),
            program="mobilenet/keras-v2-96px/train-sgdm-b4",
        )
    ],
    "grouped-as-products": [
        case(
            "2x28x28x128, 32 groups, 3x3",
            partial(convolved, groups=32),
            (2, 28, 28, 128),
            (3, 3, 4, 128),
        ),
        case(
            "2x28x28x128, 16 groups, 3x3",
            partial(convolved, groups=16),
            (2, 28, 28, 128),
            (3, 3, 8, 128),
            program="depthwise-convolution/grouped/b2-n28-c128",
        ),
        case(
            "1x224x224x3 to 32 features, 3x3, stride 2",
            partial(convolved, stride=2),
            (1, 224, 224, 3),
            (3, 3, 3, 32),
            program="mobilenet/keras-v2-224px/forward-b1",
        ),
        case("1x96x96x3 to 32 features, 3x3", convolved, (1, 96, 96, 3), (3, 3, 3, 32)),
    ],
    "depthwise-gradient:kernel": [
        case(
            "4x8x8x512, 3x3",
            kernel_gradient(by_channel(512)),
            (4, 8, 8, 512),
            (3, 3, 1, 512),
            (4, 8, 8, 512),
            program="mobilenet/keras-v1-128px/fit-adamw-b4",
        ),
        case(
            "4x56x56x64, 3x3, stride 2",
            kernel_gradient(by_channel(64, stride=2)),
            (4, 56, 56, 64),
            (3, 3, 1, 64),
            (4, 28, 28, 64),
            program="mobilenet/keras-v2-96px/train-sgdm-b4",
        ),
        case(
            "2x256x256, 4 taps over time",
            kernel_gradient(by_channel(256, padding=[(3, 0)], layout=SERIES)),
            (2, 256, 256),
            (4, 1, 256),
            (2, 256, 256),
            program="mamba/flax-l2-h128-b2-s256/train-adamw",
        ),
        case(
            "2x64x28x28, 3x3, NCHW",
            kernel_gradient(by_channel(64, layout=CHANNELS_FIRST)),
            (2, 64, 28, 28),
            (64, 1, 3, 3),
            (2, 64, 28, 28),
        ),
    ],
}


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


def draw_kernel_gradient(rng: Random) -> str:
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


PROGRAMS: Programs = {
    "depthwise-as-products": draw_depthwise,
    "grouped-as-products": draw_grouped,
    "depthwise-gradient:kernel": draw_kernel_gradient,
}

IMAGES = (Axis(), Axis())

REFUSED: Refused = {
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
}
