"""Cases of convolutions of all channels, and of transposed ones."""

from __future__ import annotations

from functools import partial

from benchmarks.speed_rules.case import Case
from benchmarks.speed_rules.convolution_case import (
    CHANNELS_FIRST,
    IMAGES,
    SERIES,
    case,
    convolved,
    input_gradient,
    kernel_gradient,
    upsampled,
)

DOTS = (
    case(
        "convolution-as-dot",
        "2x24x24x256 to 128, 1x1, gradient of the kernel",
        kernel_gradient(convolved),
        (2, 24, 24, 256),
        (1, 1, 256, 128),
        (2, 24, 24, 128),
        program="cspnet/keras-hub-bottleneck-96px/train-adamw-b2",
    ),
    case(
        "convolution-as-dot",
        "4x6x6x64 to 384, 1x1, gradient of the kernel",
        kernel_gradient(convolved),
        (4, 6, 6, 64),
        (1, 1, 64, 384),
        (4, 6, 6, 384),
        program="mobilenet/keras-v2-96px/train-sgdm-b4",
    ),
    case(
        "convolution-as-dot",
        "1x7x7x2048 to 512, 1x1",
        convolved,
        (1, 7, 7, 2048),
        (1, 1, 2048, 512),
        program="resnet/keras-resnet50-224px/forward-b1",
    ),
    case(
        "convolution-as-dot",
        "4x28x28x72 to 24, 1x1",
        convolved,
        (4, 28, 28, 72),
        (1, 1, 72, 24),
        program="mobilenet/keras-v3-small-224px/forward-b4",
    ),
    case(
        "convolution-as-dot",
        "2x96x28x28 to 96, 1x1, NCHW",
        partial(convolved, layout=CHANNELS_FIRST),
        (2, 96, 28, 28),
        (96, 96, 1, 1),
    ),
    case(
        "convolution-as-dot",
        "1x56x56x256 to 512, 1x1, stride 2",
        partial(convolved, stride=2),
        (1, 56, 56, 256),
        (1, 1, 256, 512),
        program="resnet/keras-resnet50-224px/forward-b1",
        pays=False,
    ),
    case(
        "grouped-gradient:kernel",
        "2x28x28x128, 16 groups, 3x3",
        kernel_gradient(partial(convolved, groups=16)),
        (2, 28, 28, 128),
        (3, 3, 8, 128),
        (2, 28, 28, 128),
    ),
    case(
        "grouped-gradient:kernel",
        "1x50x256, 16 groups, 64 taps over time",
        kernel_gradient(partial(convolved, groups=16, layout=SERIES)),
        (1, 50, 256),
        (64, 16, 256),
        (1, 50, 256),
        program="wav2vec2/contrast-l4-h256-a4/grad-b1-s16000",
    ),
    case(
        "convolution-gradient:kernel",
        "1x1599x256 to 256, 3 taps, stride 2",
        kernel_gradient(partial(convolved, stride=2, padding="VALID", layout=SERIES)),
        (1, 1599, 256),
        (3, 256, 256),
        (1, 799, 256),
        program="wav2vec2/contrast-l4-h256-a4/grad-b1-s16000",
    ),
    case(
        "convolution-gradient:kernel",
        "2x47x47x32 to 32, 3x3",
        kernel_gradient(convolved),
        (2, 47, 47, 32),
        (3, 3, 32, 32),
        (2, 47, 47, 32),
        program="cspnet/keras-hub-bottleneck-96px/train-adamw-b2",
        pays=False,
    ),
)

TRANSPOSED = (
    case(
        "transposed-convolution-as-phases",
        "16x16x16x64 to 32 features, 3x3, stride 2, gradient of the kernel",
        kernel_gradient(upsampled(2, IMAGES)),
        (16, 16, 16, 64),
        (3, 3, 64, 32),
        (16, 32, 32, 32),
        program="vae/flax-w32-z64-b16-64px/train-adam",
    ),
    case(
        "transposed-convolution-as-phases",
        "16x16x16x64 to 32 features, 3x3, stride 2",
        upsampled(2, IMAGES),
        (16, 16, 16, 64),
        (3, 3, 64, 32),
        program="vae/flax-w32-z64-b16-64px/forward",
    ),
    case(
        "transposed-convolution-as-phases",
        "1x64x128 to 64 features, 16 taps, stride 8, gradient of the kernel",
        kernel_gradient(upsampled(8, SERIES)),
        (1, 64, 128),
        (16, 128, 64),
        (1, 512, 64),
        program="vocoder/flax-w128-x64-b1-f64/grad",
    ),
    case(
        "transposed-convolution-as-phases",
        "1x64x128 to 64 features, 16 taps, stride 8",
        upsampled(8, SERIES),
        (1, 64, 128),
        (16, 128, 64),
        program="vocoder/flax-w128-x64-b1-f64/forward",
        pays=False,
    ),
    case(
        "transposed-convolution-as-phases",
        "1x1599x256, 3 taps, stride 2, gradient of the input",
        input_gradient(partial(convolved, stride=2, padding="VALID", layout=SERIES)),
        (1, 1599, 256),
        (3, 256, 256),
        (1, 799, 256),
        program="wav2vec2/contrast-l4-h256-a4/grad-b1-s16000",
        pays=False,
    ),
    case(
        "transposed-convolution-as-phases",
        "2x24x24x128 to 256, 1x1, stride 2, gradient of the input",
        input_gradient(partial(convolved, stride=2)),
        (2, 24, 24, 128),
        (1, 1, 128, 256),
        (2, 12, 12, 256),
        program="resnet/keras-resnet50-96px/train-sgdm-b1",
    ),
)

CASES: tuple[Case, ...] = (*DOTS, *TRANSPOSED)
