"""Rules about windows: pooling and its gradient."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.case import Case, Cases, Programs, Refused, array, f32, lowered, program


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


def similarity(image: jax.Array, other: jax.Array) -> jax.Array:
    """Returns the structural similarity of images, by windows of seven by seven."""
    mean = means(7, 1)
    first, second = mean(image), mean(other)
    squares = mean(image * image) - first**2, mean(other * other) - second**2
    both = mean(image * other) - first * second
    alike = (2 * first * second + 1e-4) * (2 * both + 9e-4)
    return jnp.mean(alike / ((first**2 + second**2 + 1e-4) * (sum(squares) + 9e-4)))


def opened(images: jax.Array) -> jax.Array:
    """Returns images of one channel after an erosion and a dilation."""
    window, strides = (1, 7, 7), (1, 1, 1)
    least = lax.reduce_window(images, jnp.inf, lax.min, window, strides, "SAME")
    return lax.reduce_window(least, -jnp.inf, lax.max, window, strides, "SAME")


CASES: Cases = {
    "window-as-slices": [
        Case(
            "4x128x128x3, similarity by windows of 7x7",
            similarity,
            (f32(4, 128, 128, 3), f32(4, 128, 128, 3)),
            "loss/similar-images/b4-n128",
        ),
        Case(
            "4x256x256, least then greatest of 7x7",
            opened,
            (f32(4, 256, 256),),
            "image-processing/morphology/b4-n256",
        ),
        Case(
            "1x114x114x64, greatest of 3x3, stride 2",
            greatest(3, 2),
            (f32(1, 114, 114, 64),),
            "resnet/keras-resnet50-224px/forward-b1",
        ),
        Case(
            "8x64x64x32, greatest of 2x2, stride 2",
            greatest(2, 2),
            (f32(8, 64, 64, 32),),
            "cnn/flax-w32x64x128-b8-64px/train-adam",
        ),
        Case(
            "1x28x28x44, greatest of 3x3",
            greatest(3, 1, "SAME"),
            (f32(1, 28, 28, 44),),
            "nasnet/keras-mobile-224px/forward-b1",
        ),
        Case(
            "1x40x40x128, mean of 2x2, stride 2",
            means(2, 2),
            (f32(1, 40, 40, 128),),
            "densenet/keras-121-160px/forward-b1",
        ),
        Case(
            "1x8x8x512, greatest of 2x2, stride 2",
            greatest(2, 2),
            (f32(1, 8, 8, 512),),
            "vgg/keras-vgg16-128px/forward-b1",
            pays=False,
        ),
    ],
    "window-gradient-by-comparison": [
        Case(
            "8x64x64x32, greatest of 2x2, stride 2",
            passed_back(greatest(2, 2)),
            (f32(8, 64, 64, 32), f32(8, 32, 32, 32)),
            "cnn/flax-w32x64x128-b8-64px/train-adam",
        ),
        Case(
            "1x96x96x64, greatest of 2x2, stride 2",
            passed_back(greatest(2, 2)),
            (f32(1, 96, 96, 64), f32(1, 48, 48, 64)),
            "vgg/keras-vgg16-96px/saliency-b1",
        ),
        Case(
            "1x50x50x64, greatest of 3x3, stride 2",
            passed_back(greatest(3, 2)),
            (f32(1, 50, 50, 64), f32(1, 24, 24, 64)),
            "resnet/keras-resnet50-96px/train-sgdm-b1",
        ),
    ],
}


def _pooled(combine: Callable[..., Any], start: Any, **window: Any) -> Callable[..., jax.Array]:
    def pooled(x: jax.Array) -> jax.Array:
        return lax.reduce_window(x, jnp.asarray(start, x.dtype), combine, **window)

    return pooled


def _window(
    *taps: int, strides: tuple[int, ...] | None = None, padding: Any = "VALID", **other: Any
) -> dict[str, Any]:
    return {
        "window_dimensions": taps,
        "window_strides": strides or (1,) * len(taps),
        "padding": padding,
        **other,
    }


_LEAST = {"float32": -jnp.inf, "float64": -jnp.inf, "int32": jnp.iinfo(jnp.int32).min}


def windows(rng: Random) -> str:
    """Draws sums, maxima or disjunctions of windows of one to three dimensions."""
    kind = rng.choice(["float32", "int32", "bool", "float64"])
    combine, start = lax.add, 0
    if kind == "bool":
        combine, start = lax.bitwise_or, False
    elif rng.random() < 0.5:
        combine, start = lax.max, _LEAST[kind]
    rank = rng.randint(1, 3)
    sizes, taps, strides, padding, dilation = [], [], [], [], []
    for _ in range(rank):
        taps.append(rng.choice([1, 2, 3, 5, 9, 13]))
        strides.append(rng.randint(1, 3))
        dilation.append(rng.randint(1, 2))
        extent = (taps[-1] - 1) * dilation[-1] + 1
        padding.append((rng.randint(0, extent - 1), rng.randint(0, extent - 1)))
        sizes.append(extent + rng.randint(2, 6))
    if taps == [1] * rank and strides == [1] * rank:
        strides[0] = 2
    window = _window(
        *taps, strides=tuple(strides), padding=padding, window_dilation=tuple(dilation)
    )
    return lowered(_pooled(combine, start, **window), array(*sizes, dtype=kind))


def _gradient_text(sizes: tuple[int, ...], kind: str = "float32", **window: Any) -> str:
    pool = partial(lax.reduce_window, init_value=-jnp.inf, computation=lax.max, **window)
    pairs = zip(sizes, window["window_dimensions"], window["window_strides"], strict=True)
    result = [(size - taps) // stride + 1 for size, taps, stride in pairs]
    return lowered(passed_back(pool), array(*sizes, dtype=kind), array(*result, dtype=kind))


def gradients(rng: Random) -> str:
    """Draws gradients of maxima of windows of images."""
    kind = rng.choice(["float32", "float64"])
    taps = rng.choice([(2, 2), (1, 3), (3, 3), (2, 1)])
    strides = rng.choice([taps, (1, 1), (2, 2), (3, 1)])
    rest = (0, 0) if rng.random() < 0.5 else (rng.randint(0, 2), rng.randint(0, 2))
    high = tuple(
        stride * (rng.randint(2, 3) - 1) + size + more
        for stride, size, more in zip(strides, taps, rest, strict=True)
    )
    window = _window(1, *taps, 1, strides=(1, *strides, 1))
    return _gradient_text((2, *high, 3), kind, **window)


PROGRAMS: Programs = {"window-as-slices": windows, "window-gradient-by-comparison": gradients}

REFUSED: Refused = {
    "window-as-slices": {
        "a cumulative sum": program(lambda x: jnp.cumsum(x, axis=1), f32(4, 32)),
        "windows of many elements": program(_pooled(lax.add, 0, **_window(65)), f32(80)),
        "an array with gaps": program(
            _pooled(lax.add, 0, **_window(2, 2, base_dilation=(2, 1))), f32(8, 8)
        ),
        "another start": program(_pooled(lax.max, 0, **_window(2, 2)), f32(8, 8)),
        "half precision": program(
            _pooled(lax.add, 0, **_window(2, 2)), array(8, 8, dtype="bfloat16")
        ),
    },
    "window-gradient-by-comparison": {
        "large windows with a gradient": lambda: _gradient_text((16, 16), **_window(5, 5)),
        "half precision of a gradient": lambda: _gradient_text((8, 8), "bfloat16", **_window(2, 2)),
    },
}
