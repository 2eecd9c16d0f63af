"""Rules about gradients of the inputs of convolutions."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

import jax

from benchmarks.speed_rules.case import Case, Cases, Programs, Refused, array, f32, lowered, program
from benchmarks.speed_rules.convolution import case, convolved, input_gradient


def _case(
    images: int, size: int, channels: int, features: int, *, program: str = "", pays: bool = True
) -> Case:
    return case(
        f"{images}x{size}x{size}x{features} to {channels}, 3x3",
        input_gradient(convolved),
        (images, size, size, channels),
        (3, 3, channels, features),
        (images, size, size, features),
        program=program,
        pays=pays,
    )


CASES: Cases = {
    "convolution-gradient:input": [
        _case(1, 6, 512, 512, program="vgg/keras-vgg16-96px/saliency-b1"),
        _case(1, 12, 512, 512, program="vgg/keras-vgg16-96px/saliency-b1"),
        _case(1, 3, 512, 512, program="resnet/keras-resnet50-96px/train-sgdm-b1"),
        _case(2, 12, 128, 128, pays=False),
    ]
}


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
    layout = (f"N{spatial}C", f"{spatial}IO", f"N{spatial}C")
    forward = partial(convolved, groups=groups, layout=layout, **options)
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
    x = f32(rng.randint(1, 3), rng.randint(5, 8), rng.randint(5, 8), 3)
    kernel = f32(rng.randint(1, 3), rng.randint(2, 3), 4, 3)
    layout = ("NHWC", "HWOI", rng.choice(["NHWC", "NCHW", "HNWC"]))
    return lowered(partial(convolved, layout=layout), x, kernel)


PROGRAMS: Programs = {
    "convolution-gradient:input": lambda rng: rng.choice((gradients, transposed_kernels))(rng)
}

REFUSED: Refused = {
    "convolution-gradient:input": {
        "the convolution itself": program(convolved, f32(2, 6, 6, 3), f32(3, 3, 3, 4)),
        "a gradient of groups": lambda: _text((6, 6), (3, 3), channels=4, groups=2),
        "a gradient of large images": lambda: _text((64, 64), (3, 3)),
        "a gradient of one tap": lambda: _text((6, 6), (1, 1)),
        "a gradient in half precision": lambda: _text((6, 6), (3, 3), dtype="bfloat16"),
    }
}
