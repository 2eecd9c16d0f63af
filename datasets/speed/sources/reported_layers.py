"""Layers that are reported to be slow in XLA:CPU: convolutions by channel, in loops, transposed."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from recipe import Recipe, array
from speed.programs import Program, program_recipes

LIBRARY = "jax"
IMAGES = ("NHWC", "HWIO", "NHWC")
SERIES = ("NHC", "HIO", "NHC")


def by_channel(images: jax.Array, kernel: jax.Array) -> jax.Array:
    """Returns a depthwise convolution of images."""
    return jax.lax.conv_general_dilated(
        images,
        kernel,
        (1, 1),
        "SAME",
        dimension_numbers=IMAGES,
        feature_group_count=images.shape[-1],
    )


def plain(images: jax.Array, kernel: jax.Array, bias: jax.Array) -> jax.Array:
    """Returns a depthwise convolution of images with a bias and a clipped activation."""
    return jnp.clip(by_channel(images, kernel) + bias, 0.0, 6.0)


def normalised(x: jax.Array, scale: jax.Array) -> jax.Array:
    """Returns channels with mean zero and variance one, scaled."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return scale * centred * jax.lax.rsqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-6)


def separable(images: jax.Array, kernel: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns a depthwise and a pointwise convolution with clipped activations."""
    x = jnp.clip(by_channel(images, kernel), 0.0, 6.0)
    return jnp.clip(x @ weights, 0.0, 6.0)


def separable_gradient(images: jax.Array, kernel: jax.Array, weights: jax.Array) -> Any:
    """Returns the gradient of a depthwise and a pointwise convolution."""

    def loss(kernel: jax.Array, weights: jax.Array) -> jax.Array:
        return jnp.mean(separable(images, kernel, weights) ** 2)

    return jax.value_and_grad(loss, (0, 1))(kernel, weights)


def wide_block(
    images: jax.Array, kernel: jax.Array, scale: jax.Array, inner: jax.Array, outer: jax.Array
) -> jax.Array:
    """Returns a block of a 7x7 depthwise convolution, a normalisation and two products."""
    x = normalised(by_channel(images, kernel), scale)
    return images + jax.nn.gelu(x @ inner) @ outer


def causal(series: jax.Array, kernel: jax.Array) -> jax.Array:
    """Returns a causal depthwise convolution over time."""
    taps = kernel.shape[0]
    return jax.lax.conv_general_dilated(
        series,
        kernel,
        (1,),
        [(taps - 1, 0)],
        dimension_numbers=SERIES,
        feature_group_count=series.shape[-1],
    )


def activated(series: jax.Array, kernel: jax.Array, bias: jax.Array) -> jax.Array:
    """Returns a causal depthwise convolution over time with a bias and an activation."""
    return jax.nn.silu(causal(series, kernel) + bias)


def gated(series: jax.Array, kernel: jax.Array, inner: jax.Array, outer: jax.Array) -> jax.Array:
    """Returns a gated layer with a causal depthwise convolution, as in state-space models."""
    x, gate = jnp.split(series @ inner, 2, axis=-1)
    return series + (jax.nn.silu(causal(x, kernel)) * jax.nn.silu(gate)) @ outer


def grouped(images: jax.Array, kernel: jax.Array) -> jax.Array:
    """Returns a convolution of groups of eight channels."""
    groups = images.shape[-1] // kernel.shape[2]
    return jax.nn.relu(
        jax.lax.conv_general_dilated(
            images, kernel, (1, 1), "SAME", dimension_numbers=IMAGES, feature_group_count=groups
        )
    )


def looped(images: jax.Array, kernels: jax.Array) -> jax.Array:
    """Returns images through convolutions in a scan, one for each layer."""

    def layer(x: jax.Array, kernel: jax.Array) -> Any:
        y = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=IMAGES)
        return x + 0.1 * jnp.tanh(y), None

    return jax.lax.scan(layer, images, kernels)[0]


def looped_updates(images: jax.Array, targets: jax.Array, kernel: jax.Array) -> Any:
    """Fits a convolution by ten gradient steps inside a loop."""

    def loss(kernel: jax.Array) -> jax.Array:
        y = jax.lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=IMAGES)
        return jnp.mean((jax.nn.relu(y) - targets) ** 2)

    def step(_: int, kernel: jax.Array) -> jax.Array:
        return kernel - 0.1 * jax.grad(loss)(kernel)

    return jax.lax.fori_loop(0, 10, step, kernel)


def transposed(series: jax.Array, first: jax.Array, second: jax.Array) -> jax.Array:
    """Returns series of four times the length by two transposed convolutions."""
    x = jax.lax.conv_transpose(series, first, (2,), "SAME", dimension_numbers=SERIES)
    x = jax.nn.leaky_relu(x)
    return jax.lax.conv_transpose(x, second, (2,), "SAME", dimension_numbers=SERIES)


def transposed_images(images: jax.Array, kernel: jax.Array) -> jax.Array:
    """Returns images of twice the size by a transposed convolution."""
    y = jax.lax.conv_transpose(images, kernel, (2, 2), "SAME", dimension_numbers=IMAGES)
    return jax.nn.relu(y)


def recurrent(series: jax.Array, inner: jax.Array, outer: jax.Array, bias: jax.Array) -> Any:
    """Returns a long short-term memory's states over time."""
    size = outer.shape[0]

    def step(carry: Any, x: jax.Array) -> Any:
        hidden, memory = carry
        first, second, third, fourth = jnp.split(x @ inner + hidden @ outer + bias, 4, axis=-1)
        memory = jax.nn.sigmoid(second) * memory + jax.nn.sigmoid(first) * jnp.tanh(third)
        hidden = jax.nn.sigmoid(fourth) * jnp.tanh(memory)
        return (hidden, memory), hidden

    start = (jnp.zeros((series.shape[1], size)), jnp.zeros((series.shape[1], size)))
    return jax.lax.scan(step, start, series)


def recipes() -> Iterator[Recipe]:
    """Yields the layers."""
    depthwise, looping = "depthwise-convolution", "convolution-loop"
    images, small = array(2, 28, 28, 96), array(3, 3, 1, 96)
    series, taps = array(4, 512, 256), array(4, 1, 256)
    transpose = "transposed-convolution"
    programs = (
        (f"{depthwise}/plain/b2-n28-c96", plain, (images, small, array(96))),
        (f"{depthwise}/separable/b4-n56-c64", separable, separated(4, 56, 64, 128)),
        (f"{depthwise}/separable/grad-b4-n28-c96", separable_gradient, separated(4, 28, 96, 96)),
        (
            f"{depthwise}/wide-block/b2-n28-c96",
            wide_block,
            (images, array(7, 7, 1, 96), array(96), array(96, 384), array(384, 96)),
        ),
        (f"{depthwise}/causal/b4-t512-c256", activated, (series, taps, array(256))),
        (
            f"{depthwise}/gated/b4-t512-c128",
            gated,
            (array(4, 512, 128), array(4, 1, 256), array(128, 512), array(256, 128)),
        ),
        (
            f"{depthwise}/grouped/b2-n28-c128",
            grouped,
            (array(2, 28, 28, 128), array(3, 3, 8, 128)),
        ),
        (f"{looping}/layers/b1-n64-c16-l8", looped, (array(1, 64, 64, 16), array(8, 3, 3, 16, 16))),
        (
            f"{looping}/updates/b4-n32-c16",
            looped_updates,
            (array(4, 32, 32, 16), array(4, 32, 32, 16), array(3, 3, 16, 16)),
        ),
        (
            f"{transpose}/series/b4-n2048-c64",
            transposed,
            (array(4, 2048, 64), array(4, 64, 32), array(4, 32, 16)),
        ),
        (
            f"{transpose}/images/b2-n32-c64",
            transposed_images,
            (array(2, 32, 32, 64), array(4, 4, 64, 32)),
        ),
        (
            "lstm/written-out/t128-b16-d128",
            recurrent,
            (array(128, 16, 64), array(64, 512), array(128, 512), array(512)),
        ),
    )
    for name, function, arguments in programs:
        words = f"reported case: {name.split('/')[0]}, {name.split('/')[1]}"
        yield from program_recipes(LIBRARY, [Program(name, words, function, arguments)])


def separated(batch: int, size: int, channels: int, out: int) -> tuple[Any, ...]:
    """Returns the arguments of `separable`."""
    images = array(batch, size, size, channels)
    return images, array(3, 3, 1, channels), array(channels, out)
