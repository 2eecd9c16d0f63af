"""Products, convolutions and pointwise operations on both sides of the clauses of claims."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
from jax import lax

from tests.proofs.boundaries.boundary import Boundary, either, of

_SQUARES = "4x4 4x4 4x4 4x4"


def _convolved(x: Any, kernel: Any) -> Any:
    numbers = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=numbers)


def _images(function: Callable[..., Any], *, images: int = 1, kernels: int = 1) -> Any:
    """Returns a program of images, then kernels, then three numbers."""
    return of(function, "2x4x4x3 " * images + "3x3x3x3 " * kernels + "3")


def _shared_image(n: int, *, depends: bool) -> str:
    def function(x: Any, v: Any, w: Any, _: Any) -> Any:
        first = _convolved(x, v)
        if depends:
            return first, _convolved(x, w if n else w + first.sum())
        return first, _convolved(x if n else x + 1, w)

    return _images(function, kernels=2)()


def _shared_kernel(n: int, *, depends: bool) -> str:
    def function(x: Any, y: Any, w: Any, _: Any) -> Any:
        first = _convolved(x, w)
        if depends:
            return first, _convolved(y if n else y + first, w)
        return first, _convolved(y, w if n else w + 1)

    return _images(function, images=2)()


def _joined(axis: int) -> Callable[[], str]:
    def function(x: Any, y: Any, w: Any, _: Any) -> Any:
        return jnp.concatenate([_convolved(x, w), _convolved(y, w)], axis)

    return _images(function, images=2)


def _backwards(stride: int) -> Callable[[], str]:
    """Returns a convolution with a kernel whose features are those of the input."""
    layout = ("NHWC", "HWOI", "NHWC")
    function = partial(
        lax.conv_general_dilated,
        window_strides=(stride, stride),
        padding="SAME",
        dimension_numbers=layout,
    )
    return of(function, "2x6x6x3 3x3x4x3")


_CONVOLUTIONS = (
    Boundary(
        "factor-convolutions",
        "the products differ in one operand only",
        either(
            _images(lambda x, v, w, _: _convolved(x, v) + _convolved(x, w), kernels=2),
            _images(lambda x, y, v, w, _: _convolved(x, v) + _convolved(y, w), images=2, kernels=2),
        ),
    ),
    Boundary(
        "distribute-convolution",
        "an operand is a sum or a difference",
        either(
            _images(lambda x, y, w, _: _convolved(x + y, w), images=2),
            _images(lambda x, y, w, _: _convolved(x * y, w), images=2),
        ),
    ),
    Boundary(
        "scale-operand:convolution",
        "the scale is constant along what the product sums over",
        either(
            _images(lambda x, w, s: _convolved(x, w) * s),
            _images(lambda x, w, s: _convolved(x, w) * (x + s)),
        ),
    ),
    Boundary(
        "scale-result:convolution",
        "the scale is constant along what the product sums over",
        either(
            _images(lambda x, w, s: _convolved(x, w * s)),
            _images(lambda x, w, s: _convolved(x * s, w)),
        ),
    ),
    Boundary(
        "split-convolution",
        "an operand is a concatenation along a dimension of the result",
        either(
            _images(lambda x, y, w, _: _convolved(jnp.concatenate([x, y], 0), w), images=2),
            _images(lambda x, y, w, _: _convolved(jnp.concatenate([x, y], 1), w), images=2),
        ),
    ),
    Boundary(
        "join-convolutions", "along a dimension of the result", either(_joined(0), _joined(1))
    ),
    Boundary(
        "merge-convolutions:input",
        "the left operands are the same",
        partial(_shared_image, depends=False),
    ),
    Boundary(
        "merge-convolutions:input",
        "neither product depends on the other",
        partial(_shared_image, depends=True),
    ),
    Boundary(
        "merge-convolutions:kernel",
        "the right operands are the same",
        partial(_shared_kernel, depends=False),
    ),
    Boundary(
        "merge-convolutions:kernel",
        "neither product depends on the other",
        partial(_shared_kernel, depends=True),
    ),
    Boundary(
        "convolution-gradient:input",
        "no groups, no stride",
        either(_backwards(1), _backwards(2)),
    ),
)

ALGEBRA = (
    *_CONVOLUTIONS,
    Boundary(
        "factor-products",
        "one factor of both products is the same",
        either(
            of(lambda x, y, v, w: x * w + y * w, _SQUARES),
            of(lambda x, y, v, w: x * v + y * w, _SQUARES),
        ),
    ),
    Boundary(
        "join-dots",
        "the products that are concatenated differ in one operand only",
        either(
            of(lambda x, y, v, w: jnp.concatenate([x @ w, y @ w]), _SQUARES),
            of(lambda x, y, v, w: jnp.concatenate([x @ v, y @ w]), _SQUARES),
        ),
    ),
    Boundary(
        "join-dots",
        "along a dimension of the result",
        either(
            of(lambda x, y, v, w: jnp.concatenate([x @ w, y @ w], 0), _SQUARES),
            of(lambda x, y, v, w: jnp.concatenate([x @ w, y @ w], 1), _SQUARES),
        ),
    ),
    Boundary(
        "reassociate-dots:right",
        "what the dots sum over are dimensions of different operands",
        either(
            of(lambda x, v, w, _: (x @ v) @ w, _SQUARES),
            of(lambda x, v, w, _: (x @ v).T @ w, _SQUARES),
        ),
    ),
    Boundary(
        "join-pointwise",
        "all parts are the same operation",
        either(
            of(lambda x, y: jnp.concatenate([jnp.tanh(x), jnp.tanh(y)]), "4x4 4x4"),
            of(lambda x, y: jnp.concatenate([jnp.tanh(x), jnp.sin(y)]), "4x4 4x4"),
        ),
    ),
    Boundary(
        "split-pointwise",
        "the operands are concatenations of the same sizes",
        either(
            of(
                lambda x, y, v, w: jnp.concatenate([x, y]) * jnp.concatenate([v, w]),
                "4x4 2x4 4x4 2x4",
            ),
            of(
                lambda x, y, v, w: jnp.concatenate([x, y]) * jnp.concatenate([v, w]),
                "4x4 2x4 2x4 4x4",
            ),
        ),
    ),
    Boundary(
        "rearrange-operands",
        "a transpose or reshape of a pointwise operation",
        either(
            of(lambda x, y: (x * y).T, "4x3 4x3"),
            of(lambda x, y: jnp.cumsum(x * y, 0).T, "4x3 4x3"),
        ),
    ),
    Boundary(
        "rearrange-result",
        "all operands are rearranged alike",
        either(
            of(lambda x, y: x.T * y.T, "4x4 4x4"),
            of(lambda x, y: x.T * y.reshape(4, 4), "4x4 2x8"),
        ),
    ),
)
