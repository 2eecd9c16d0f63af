"""Convolutions and their gradients, for cases of rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
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


def by_channel(channels: int, **options: Any) -> Callable[..., jax.Array]:
    """Returns a function for a convolution of each channel alone."""
    return partial(convolved, groups=channels, **options)


def case(
    rule: str | tuple[str, ...],
    shape: str,
    function: Callable[..., Any],
    *arguments: tuple[int, ...],
    program: str = "",
    pays: bool = True,
) -> Case:
    """Returns the case of a function of float32 arrays of these sizes."""
    rules = (rule,) if isinstance(rule, str) else rule
    return Case(rules, shape, function, tuple(floats(*sizes) for sizes in arguments), program, pays)
