"""Rules about convolutions of all channels, and about transposed ones."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random

from benchmarks.speed_rules.case import Cases, Programs, Refused
from benchmarks.speed_rules.convolution import (
    CHANNELS_FIRST,
    SERIES,
    Axis,
    HloConvolution,
    case,
    convolved,
    draw_axes,
    draw_convolution,
    input_gradient,
    kernel_gradient,
    upsampled,
)
from benchmarks.speed_rules.convolution import IMAGES as NHWC

CASES: Cases = {
    "convolution-as-dot": [
        case(
            "2x24x24x256 to 128, 1x1, gradient of the kernel",
            kernel_gradient(convolved),
            (2, 24, 24, 256),
            (1, 1, 256, 128),
            (2, 24, 24, 128),
            program="cspnet/keras-hub-bottleneck-96px/train-adamw-b2",
        ),
        case(
            "4x6x6x64 to 384, 1x1, gradient of the kernel",
            kernel_gradient(convolved),
            (4, 6, 6, 64),
            (1, 1, 64, 384),
            (4, 6, 6, 384),
            program="mobilenet/keras-v2-96px/train-sgdm-b4",
        ),
        case(
            "1x7x7x2048 to 512, 1x1",
            convolved,
            (1, 7, 7, 2048),
            (1, 1, 2048, 512),
            program="resnet/keras-resnet50-224px/forward-b1",
        ),
        case(
            "4x28x28x72 to 24, 1x1",
            convolved,
            (4, 28, 28, 72),
            (1, 1, 72, 24),
            program="mobilenet/keras-v3-small-224px/forward-b4",
        ),
        case(
            "2x96x28x28 to 96, 1x1, NCHW",
            partial(convolved, layout=CHANNELS_FIRST),
            (2, 96, 28, 28),
            (96, 96, 1, 1),
        ),
        case(
            "1x56x56x256 to 512, 1x1, stride 2",
            partial(convolved, stride=2),
            (1, 56, 56, 256),
            (1, 1, 256, 512),
            program="resnet/keras-resnet50-224px/forward-b1",
            pays=False,
        ),
    ],
    "grouped-gradient:kernel": [
        case(
            "2x28x28x128, 16 groups, 3x3",
            kernel_gradient(partial(convolved, groups=16)),
            (2, 28, 28, 128),
            (3, 3, 8, 128),
            (2, 28, 28, 128),
        ),
        case(
            "1x50x256, 16 groups, 64 taps over time",
            kernel_gradient(partial(convolved, groups=16, layout=SERIES)),
            (1, 50, 256),
            (64, 16, 256),
            (1, 50, 256),
            program="wav2vec2/contrast-l4-h256-a4/grad-b1-s16000",
        ),
    ],
    "convolution-gradient:kernel": [
        case(
            "1x1599x256 to 256, 3 taps, stride 2",
            kernel_gradient(partial(convolved, stride=2, padding="VALID", layout=SERIES)),
            (1, 1599, 256),
            (3, 256, 256),
            (1, 799, 256),
            program="wav2vec2/contrast-l4-h256-a4/grad-b1-s16000",
        ),
        case(
            "2x47x47x32 to 32, 3x3",
            kernel_gradient(convolved),
            (2, 47, 47, 32),
            (3, 3, 32, 32),
            (2, 47, 47, 32),
            program="cspnet/keras-hub-bottleneck-96px/train-adamw-b2",
            pays=False,
        ),
    ],
    "transposed-convolution-as-phases": [
        case(
            "16x16x16x64 to 32 features, 3x3, stride 2, gradient of the kernel",
            kernel_gradient(upsampled(2, NHWC)),
            (16, 16, 16, 64),
            (3, 3, 64, 32),
            (16, 32, 32, 32),
            program="vae/flax-w32-z64-b16-64px/train-adam",
        ),
        case(
            "16x16x16x64 to 32 features, 3x3, stride 2",
            upsampled(2, NHWC),
            (16, 16, 16, 64),
            (3, 3, 64, 32),
            program="vae/flax-w32-z64-b16-64px/forward",
        ),
        case(
            "1x64x128 to 64 features, 16 taps, stride 8, gradient of the kernel",
            kernel_gradient(upsampled(8, SERIES)),
            (1, 64, 128),
            (16, 128, 64),
            (1, 512, 64),
            program="vocoder/flax-w128-x64-b1-f64/grad",
        ),
        case(
            "1x64x128 to 64 features, 16 taps, stride 8",
            upsampled(8, SERIES),
            (1, 64, 128),
            (16, 128, 64),
            program="vocoder/flax-w128-x64-b1-f64/forward",
            pays=False,
        ),
        case(
            "1x1599x256, 3 taps, stride 2, gradient of the input",
            input_gradient(partial(convolved, stride=2, padding="VALID", layout=SERIES)),
            (1, 1599, 256),
            (3, 256, 256),
            (1, 799, 256),
            program="wav2vec2/contrast-l4-h256-a4/grad-b1-s16000",
            pays=False,
        ),
        case(
            "2x24x24x128 to 256, 1x1, stride 2, gradient of the input",
            input_gradient(partial(convolved, stride=2)),
            (2, 24, 24, 128),
            (1, 1, 128, 256),
            (2, 12, 12, 256),
            program="resnet/keras-resnet50-96px/train-sgdm-b1",
        ),
    ],
}


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


PROGRAMS: Programs = {
    "transposed-convolution-as-phases": draw_spread,
    "convolution-as-dot": draw_dot,
    "grouped-gradient:kernel": draw_grouped_gradient,
    "convolution-gradient:kernel": draw_kernel_gradient,
}

IMAGES = (Axis(), Axis())

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
}
