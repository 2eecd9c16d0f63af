"""Random gradients of the inputs of convolutions, and programs that the rule refuses."""

from __future__ import annotations

from typing import Any

import jax
from hypothesis import strategies as st
from jax import lax

from tests.hlograph.transforms.forms.pattern import Programs, Refused, lowered


def _array(*sizes: int, kind: str = "float32") -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, kind)


def _text(
    sizes: tuple[int, ...],
    taps: tuple[int, ...],
    *,
    batch: int = 2,
    channels: int = 3,
    features: int = 4,
    groups: int = 1,
    kind: str = "float32",
    strides: tuple[int, ...] | None = None,
    padding: Any = "SAME",
    **other: Any,
) -> str:
    """Returns the gradient of the input of a convolution with the channels in the last place."""
    spatial = "HW"[: len(sizes)]
    layout = (f"N{spatial}C", f"{spatial}IO", f"N{spatial}C")
    strides = strides or (1,) * len(sizes)

    def forward(x: jax.Array, kernel: jax.Array) -> jax.Array:
        return lax.conv_general_dilated(
            x,
            kernel,
            strides,
            padding,
            dimension_numbers=layout,
            feature_group_count=groups,
            **other,
        )

    x = _array(batch, *sizes, channels, kind=kind)
    kernel = _array(*taps, channels // groups, features, kind=kind)
    result = jax.eval_shape(forward, x, kernel)

    def gradient(kernel: jax.Array, change: jax.Array) -> jax.Array:
        return jax.linear_transpose(lambda x: forward(x, kernel), x)(change)[0]

    return lowered(gradient, kernel, result)


@st.composite
def gradients(draw: st.DrawFn) -> str:
    rank = draw(st.integers(1, 2))
    pick = lambda *values: tuple(draw(st.sampled_from(values)) for _ in range(rank))  # noqa: E731
    taps = pick(2, 3, 5)
    kind = draw(st.sampled_from(["float32", "float64"]))
    with jax.enable_x64(True):
        return _text(
            pick(6, 7, 9),
            taps,
            batch=draw(st.integers(1, 3)),
            kind=kind,
            strides=pick(1, 2),
            padding=draw(st.sampled_from(["SAME", [(1, 1)] * rank, [(0, 2)] * rank])),
            rhs_dilation=(1,) * rank if max(taps) > 3 else pick(1, 2),
        )


@st.composite
def transposed_kernels(draw: st.DrawFn) -> str:
    sizes = (draw(st.integers(1, 3)), draw(st.integers(5, 8)), draw(st.integers(5, 8)), 3)
    taps = (draw(st.integers(1, 3)), draw(st.integers(2, 3)), 4, 3)
    layout = ("NHWC", "HWOI", draw(st.sampled_from(["NHWC", "NCHW", "HNWC"])))
    return lowered(
        lambda x, kernel: lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", dimension_numbers=layout
        ),
        _array(*sizes),
        _array(*taps),
    )


PROGRAMS: Programs = {
    "convolution-gradient:input": lambda: st.one_of(gradients(), transposed_kernels()),
}

REFUSED: Refused = {
    "the convolution itself": (
        "convolution-gradient:input",
        lambda: lowered(
            lambda x, kernel: lax.conv_general_dilated(
                x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            ),
            _array(2, 6, 6, 3),
            _array(3, 3, 3, 4),
        ),
    ),
    "a gradient of groups": (
        "convolution-gradient:input",
        lambda: _text((6, 6), (3, 3), channels=4, groups=2),
    ),
    "a gradient of large images": (
        "convolution-gradient:input",
        lambda: _text((64, 64), (3, 3)),
    ),
    "a gradient of one tap": (
        "convolution-gradient:input",
        lambda: _text((6, 6), (1, 1)),
    ),
    "a gradient in half precision": (
        "convolution-gradient:input",
        lambda: _text((6, 6), (3, 3), kind="bfloat16"),
    ),
}
"""Rule and program by the detail that is missing."""
