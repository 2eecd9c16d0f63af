"""Cases of convolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.case import Case, floats

IMAGES = ("NHWC", "HWIO", "NHWC")
CHANNELS_FIRST = ("NCHW", "OIHW", "NCHW")
SERIES = ("NHC", "HIO", "NHC")


def convolved(
    x: jax.Array,
    kernel: jax.Array,
    *,
    groups: int = 1,
    stride: int = 1,
    padding: str | Sequence[tuple[int, int]] = "SAME",
    layout: tuple[str, str, str] = IMAGES,
) -> jax.Array:
    """Returns a convolution of groups of channels."""
    return lax.conv_general_dilated(
        x,
        kernel,
        (stride,) * (x.ndim - 2),
        padding,
        dimension_numbers=layout,
        feature_group_count=groups,
    )


def upsampled(stride: int, layout: tuple[str, str, str]) -> Callable[..., jax.Array]:
    """Returns a function for a transposed convolution."""

    def transposed(x: jax.Array, kernel: jax.Array) -> jax.Array:
        strides = (stride,) * (x.ndim - 2)
        return lax.conv_transpose(x, kernel, strides, "SAME", dimension_numbers=layout)

    return transposed


def kernel_gradient(forward: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """Returns a function for the gradient of the kernel, from that of the result."""

    def gradient(x: jax.Array, kernel: jax.Array, change: jax.Array) -> jax.Array:
        return jax.vjp(lambda kernel: forward(x, kernel), kernel)[1](change)[0]

    return gradient


def input_gradient(forward: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """Returns a function for the gradient of the input, from that of the result."""

    def gradient(x: jax.Array, kernel: jax.Array, change: jax.Array) -> jax.Array:
        return jax.vjp(lambda x: forward(x, kernel), x)[1](change)[0]

    return gradient


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


def _case(
    rule: str | tuple[str, ...],
    shape: str,
    function: Callable[..., Any],
    *arguments: tuple[int, ...],
    program: str = "",
    pays: bool = True,
) -> Case:
    rules = (rule,) if isinstance(rule, str) else rule
    return Case(rules, shape, function, tuple(floats(*sizes) for sizes in arguments), program, pays)


def _by_channel(channels: int, **options: Any) -> Callable[..., jax.Array]:
    return partial(convolved, groups=channels, **options)


DEPTHWISE = (
    _case(
        "depthwise-as-products",
        "2x28x28x96, 3x3, NHWC",
        _by_channel(96),
        (2, 28, 28, 96),
        (3, 3, 1, 96),
        program="depthwise-convolution/plain/b2-n28-c96",
    ),
    _case(
        "depthwise-as-products",
        "4x512x256, 4 taps over time",
        activated,
        (4, 512, 256),
        (4, 1, 256),
        (256,),
        program="depthwise-convolution/causal/b4-t512-c256",
    ),
    _case(
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
    _case(
        "depthwise-as-products",
        "1x14x14x88, 5x5, NHWC",
        _by_channel(88),
        (1, 14, 14, 88),
        (5, 5, 1, 88),
        program="nasnet/keras-mobile-224px/forward-b1",
    ),
    _case(
        "depthwise-as-products",
        "1x112x112x96, 3x3, stride 2, NHWC",
        _by_channel(96, stride=2),
        (1, 112, 112, 96),
        (3, 3, 1, 96),
        program="mobilenet/keras-v2-224px/forward-b1",
    ),
    _case(
        "depthwise-as-products",
        "2x64x56x56, 3x3, NCHW",
        _by_channel(64, layout=CHANNELS_FIRST),
        (2, 64, 56, 56),
        (64, 1, 3, 3),
    ),
    _case(
        "depthwise-as-products",
        "2x28x28x64, 3x3, two features for each channel",
        _by_channel(64),
        (2, 28, 28, 64),
        (3, 3, 1, 128),
    ),
    _case(
        "depthwise-as-products",
        "8x256x256, 13 taps along each axis",
        blurred,
        (8, 256, 256),
        (13,),
        program="image-processing/gaussian/b8-n256",
    ),
    _case(
        "depthwise-as-products",
        "8x64x64x1 to 32 features, 3x3",
        convolved,
        (8, 64, 64, 1),
        (3, 3, 1, 32),
        program="cnn/flax-w32x64x128-b8-64px/train-adam",
    ),
    _case(
        "depthwise-as-products",
        "4x28x28x96, 3x3, gradient of the input",
        input_gradient(_by_channel(96)),
        (4, 28, 28, 96),
        (3, 3, 1, 96),
        (4, 28, 28, 96),
        program="mobilenet/keras-v1-128px/fit-adamw-b4",
    ),
    _case(
        "depthwise-as-products",
        "4x28x28x96, 3x3, stride 2, gradient of the input",
        input_gradient(_by_channel(96, stride=2)),
        (4, 28, 28, 96),
        (3, 3, 1, 96),
        (4, 14, 14, 96),
        program="mobilenet/keras-v2-96px/train-sgdm-b4",
    ),
    _case(
        ("transposed-convolution-as-phases", "depthwise-as-products"),
        "4x28x28x96, 3x3, stride 2, gradient of the input",
        input_gradient(_by_channel(96, stride=2)),
        (4, 28, 28, 96),
        (3, 3, 1, 96),
        (4, 14, 14, 96),
        program="mobilenet/keras-v2-96px/train-sgdm-b4",
    ),
)

GROUPED = (
    _case(
        "grouped-as-products",
        "2x28x28x128, 32 groups, 3x3",
        partial(convolved, groups=32),
        (2, 28, 28, 128),
        (3, 3, 4, 128),
    ),
    _case(
        "grouped-as-products",
        "2x28x28x128, 16 groups, 3x3",
        partial(convolved, groups=16),
        (2, 28, 28, 128),
        (3, 3, 8, 128),
        program="depthwise-convolution/grouped/b2-n28-c128",
    ),
    _case(
        "grouped-as-products",
        "1x224x224x3 to 32 features, 3x3, stride 2",
        partial(convolved, stride=2),
        (1, 224, 224, 3),
        (3, 3, 3, 32),
        program="mobilenet/keras-v2-224px/forward-b1",
    ),
    _case(
        "grouped-as-products",
        "1x96x96x3 to 32 features, 3x3",
        convolved,
        (1, 96, 96, 3),
        (3, 3, 3, 32),
    ),
)

GRADIENTS = (
    _case(
        "depthwise-gradient:kernel",
        "4x8x8x512, 3x3",
        kernel_gradient(_by_channel(512)),
        (4, 8, 8, 512),
        (3, 3, 1, 512),
        (4, 8, 8, 512),
        program="mobilenet/keras-v1-128px/fit-adamw-b4",
    ),
    _case(
        "depthwise-gradient:kernel",
        "4x56x56x64, 3x3, stride 2",
        kernel_gradient(_by_channel(64, stride=2)),
        (4, 56, 56, 64),
        (3, 3, 1, 64),
        (4, 28, 28, 64),
        program="mobilenet/keras-v2-96px/train-sgdm-b4",
    ),
    _case(
        "depthwise-gradient:kernel",
        "2x256x256, 4 taps over time",
        kernel_gradient(_by_channel(256, padding=[(3, 0)], layout=SERIES)),
        (2, 256, 256),
        (4, 1, 256),
        (2, 256, 256),
        program="mamba/flax-l2-h128-b2-s256/train-adamw",
    ),
    _case(
        "depthwise-gradient:kernel",
        "2x64x28x28, 3x3, NCHW",
        kernel_gradient(_by_channel(64, layout=CHANNELS_FIRST)),
        (2, 64, 28, 28),
        (64, 1, 3, 3),
        (2, 64, 28, 28),
    ),
)

DOTS = (
    _case(
        "convolution-as-dot",
        "2x24x24x256 to 128, 1x1, gradient of the kernel",
        kernel_gradient(convolved),
        (2, 24, 24, 256),
        (1, 1, 256, 128),
        (2, 24, 24, 128),
        program="cspnet/keras-hub-bottleneck-96px/train-adamw-b2",
    ),
    _case(
        "convolution-as-dot",
        "4x6x6x64 to 384, 1x1, gradient of the kernel",
        kernel_gradient(convolved),
        (4, 6, 6, 64),
        (1, 1, 64, 384),
        (4, 6, 6, 384),
        program="mobilenet/keras-v2-96px/train-sgdm-b4",
    ),
    _case(
        "convolution-as-dot",
        "1x7x7x2048 to 512, 1x1",
        convolved,
        (1, 7, 7, 2048),
        (1, 1, 2048, 512),
        program="resnet/keras-resnet50-224px/forward-b1",
    ),
    _case(
        "convolution-as-dot",
        "4x28x28x72 to 24, 1x1",
        convolved,
        (4, 28, 28, 72),
        (1, 1, 72, 24),
        program="mobilenet/keras-v3-small-224px/forward-b4",
    ),
    _case(
        "convolution-as-dot",
        "2x96x28x28 to 96, 1x1, NCHW",
        partial(convolved, layout=CHANNELS_FIRST),
        (2, 96, 28, 28),
        (96, 96, 1, 1),
    ),
    _case(
        "convolution-as-dot",
        "1x56x56x256 to 512, 1x1, stride 2",
        partial(convolved, stride=2),
        (1, 56, 56, 256),
        (1, 1, 256, 512),
        program="resnet/keras-resnet50-224px/forward-b1",
        pays=False,
    ),
    _case(
        "grouped-gradient:kernel",
        "2x28x28x128, 16 groups, 3x3",
        kernel_gradient(partial(convolved, groups=16)),
        (2, 28, 28, 128),
        (3, 3, 8, 128),
        (2, 28, 28, 128),
    ),
    _case(
        "grouped-gradient:kernel",
        "1x50x256, 16 groups, 64 taps over time",
        kernel_gradient(partial(convolved, groups=16, layout=SERIES)),
        (1, 50, 256),
        (64, 16, 256),
        (1, 50, 256),
        program="wav2vec2/contrast-l4-h256-a4/grad-b1-s16000",
    ),
    _case(
        "convolution-gradient:kernel",
        "1x1599x256 to 256, 3 taps, stride 2",
        kernel_gradient(partial(convolved, stride=2, padding="VALID", layout=SERIES)),
        (1, 1599, 256),
        (3, 256, 256),
        (1, 799, 256),
        program="wav2vec2/contrast-l4-h256-a4/grad-b1-s16000",
    ),
    _case(
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
    _case(
        "transposed-convolution-as-phases",
        "16x16x16x64 to 32 features, 3x3, stride 2, gradient of the kernel",
        kernel_gradient(upsampled(2, IMAGES)),
        (16, 16, 16, 64),
        (3, 3, 64, 32),
        (16, 32, 32, 32),
        program="vae/flax-w32-z64-b16-64px/train-adam",
    ),
    _case(
        "transposed-convolution-as-phases",
        "16x16x16x64 to 32 features, 3x3, stride 2",
        upsampled(2, IMAGES),
        (16, 16, 16, 64),
        (3, 3, 64, 32),
        program="vae/flax-w32-z64-b16-64px/forward",
    ),
    _case(
        "transposed-convolution-as-phases",
        "1x64x128 to 64 features, 16 taps, stride 8, gradient of the kernel",
        kernel_gradient(upsampled(8, SERIES)),
        (1, 64, 128),
        (16, 128, 64),
        (1, 512, 64),
        program="vocoder/flax-w128-x64-b1-f64/grad",
    ),
    _case(
        "transposed-convolution-as-phases",
        "1x64x128 to 64 features, 16 taps, stride 8",
        upsampled(8, SERIES),
        (1, 64, 128),
        (16, 128, 64),
        program="vocoder/flax-w128-x64-b1-f64/forward",
        pays=False,
    ),
    _case(
        "transposed-convolution-as-phases",
        "1x1599x256, 3 taps, stride 2, gradient of the input",
        input_gradient(partial(convolved, stride=2, padding="VALID", layout=SERIES)),
        (1, 1599, 256),
        (3, 256, 256),
        (1, 799, 256),
        program="wav2vec2/contrast-l4-h256-a4/grad-b1-s16000",
        pays=False,
    ),
    _case(
        "transposed-convolution-as-phases",
        "2x24x24x128 to 256, 1x1, stride 2, gradient of the input",
        input_gradient(partial(convolved, stride=2)),
        (2, 24, 24, 128),
        (1, 1, 128, 256),
        (2, 12, 12, 256),
        program="resnet/keras-resnet50-96px/train-sgdm-b1",
    ),
)

CASES: tuple[Case, ...] = (*DEPTHWISE, *GROUPED, *GRADIENTS, *DOTS, *TRANSPOSED)
