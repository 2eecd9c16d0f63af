"""Cases of windows: pooling and its gradient."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.case import Case, floats


def greatest(taps: int, stride: int, padding: str = "VALID") -> Callable[[jax.Array], jax.Array]:
    """Returns a function for the greatest elements of windows of images."""

    def pooled(images: jax.Array) -> jax.Array:
        window, strides = (1, taps, taps, 1), (1, stride, stride, 1)
        return lax.reduce_window(images, -jnp.inf, lax.max, window, strides, padding)

    return pooled


def means(taps: int, stride: int) -> Callable[[jax.Array], jax.Array]:
    """Returns a function for the means of windows of images."""

    def pooled(images: jax.Array) -> jax.Array:
        window, strides = (1, taps, taps, 1), (1, stride, stride, 1)
        return lax.reduce_window(images, 0.0, lax.add, window, strides, "VALID") / taps**2

    return pooled


def passed_back(pool: Callable[[jax.Array], jax.Array]) -> Callable[..., jax.Array]:
    """Returns a function for the gradient of the input, from that of the result."""

    def gradient(images: jax.Array, change: jax.Array) -> jax.Array:
        return jax.vjp(pool, images)[1](change)[0]

    return gradient


def similarity(one: jax.Array, two: jax.Array) -> jax.Array:
    """Returns the structural similarity of images, by windows of seven by seven."""
    mean = means(7, 1)
    first, second = mean(one), mean(two)
    squares = mean(one * one) - first**2, mean(two * two) - second**2
    both = mean(one * two) - first * second
    alike = (2 * first * second + 1e-4) * (2 * both + 9e-4)
    return jnp.mean(alike / ((first**2 + second**2 + 1e-4) * (sum(squares) + 9e-4)))


def opened(images: jax.Array) -> jax.Array:
    """Returns images of one channel after an erosion and a dilation."""
    window, strides = (1, 7, 7), (1, 1, 1)
    least = lax.reduce_window(images, jnp.inf, lax.min, window, strides, "SAME")
    return lax.reduce_window(least, -jnp.inf, lax.max, window, strides, "SAME")


CASES: tuple[Case, ...] = (
    Case(
        ("window-as-slices",),
        "4x128x128x3, similarity by windows of 7x7",
        similarity,
        (floats(4, 128, 128, 3), floats(4, 128, 128, 3)),
        program="loss/similar-images/b4-n128",
    ),
    Case(
        ("window-as-slices",),
        "4x256x256, least then greatest of 7x7",
        opened,
        (floats(4, 256, 256),),
        program="image-processing/morphology/b4-n256",
    ),
    Case(
        ("window-as-slices",),
        "1x114x114x64, greatest of 3x3, stride 2",
        greatest(3, 2),
        (floats(1, 114, 114, 64),),
        program="resnet/keras-resnet50-224px/forward-b1",
    ),
    Case(
        ("window-as-slices",),
        "8x64x64x32, greatest of 2x2, stride 2",
        greatest(2, 2),
        (floats(8, 64, 64, 32),),
        program="cnn/flax-w32x64x128-b8-64px/train-adam",
    ),
    Case(
        ("window-as-slices",),
        "1x28x28x44, greatest of 3x3",
        greatest(3, 1, "SAME"),
        (floats(1, 28, 28, 44),),
        program="nasnet/keras-mobile-224px/forward-b1",
    ),
    Case(
        ("window-as-slices",),
        "1x40x40x128, mean of 2x2, stride 2",
        means(2, 2),
        (floats(1, 40, 40, 128),),
        program="densenet/keras-121-160px/forward-b1",
    ),
    Case(
        ("window-as-slices",),
        "1x8x8x512, greatest of 2x2, stride 2",
        greatest(2, 2),
        (floats(1, 8, 8, 512),),
        program="vgg/keras-vgg16-128px/forward-b1",
        pays=False,
    ),
    Case(
        ("window-gradient-by-comparison",),
        "8x64x64x32, greatest of 2x2, stride 2",
        passed_back(greatest(2, 2)),
        (floats(8, 64, 64, 32), floats(8, 32, 32, 32)),
        program="cnn/flax-w32x64x128-b8-64px/train-adam",
    ),
    Case(
        ("window-gradient-by-comparison",),
        "1x96x96x64, greatest of 2x2, stride 2",
        passed_back(greatest(2, 2)),
        (floats(1, 96, 96, 64), floats(1, 48, 48, 64)),
        program="vgg/keras-vgg16-96px/saliency-b1",
    ),
    Case(
        ("window-gradient-by-comparison",),
        "1x50x50x64, greatest of 3x3, stride 2",
        passed_back(greatest(3, 2)),
        (floats(1, 50, 50, 64), floats(1, 24, 24, 64)),
        program="resnet/keras-resnet50-96px/train-sgdm-b1",
    ),
)
