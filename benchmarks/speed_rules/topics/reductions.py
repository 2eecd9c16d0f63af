"""Rules about reductions, cumulative ones, and windows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program


def _apart(points: jax.Array) -> jax.Array:
    return points[:, None] - points[None]


def squares(points: jax.Array) -> jax.Array:
    """Returns squared distances of all pairs."""
    return jnp.sum(_apart(points) ** 2, axis=-1)


def kernel(points: jax.Array, values: jax.Array) -> jax.Array:
    """Returns a Gaussian kernel of points times values."""
    return jnp.exp(-0.5 * squares(points)) @ values


def sum_of_squares(x: jax.Array, *, axis: int) -> jax.Array:
    """Returns sums of squares along an axis."""
    return jnp.sum(x * x, axis=axis)


def weighted_mean(weights: jax.Array, x: jax.Array) -> jax.Array:
    """Returns weighted means over the first dimension."""
    return jnp.sum(weights * x, axis=0) / jnp.sum(weights, axis=0)


def pressures(points: jax.Array, push: jax.Array) -> jax.Array:
    """Returns the pushes of all others."""
    return jnp.sum(push[..., None] * _apart(points), axis=1)


def forces(points: jax.Array) -> jax.Array:
    """Returns pairwise forces of unit charges."""
    distances = jnp.sum(_apart(points) ** 2, axis=-1, keepdims=True) + 1e-2
    return jnp.sum(_apart(points) / distances**1.5, axis=1)


_KINDS = ("float32", "int32")


def short_reductions(rng: Random) -> str:
    """Draws reductions of few elements, along any dimension."""
    reduce: Callable[..., Any] = rng.choice([jnp.sum, jnp.max, jnp.min, jnp.prod])
    sizes = [rng.randint(8, 12), rng.randint(8, 12)]
    axis = rng.randint(0, 2)
    sizes.insert(axis, rng.randint(2, 16))
    kind = rng.choice(_KINDS)
    return lowered(lambda x: reduce(x, axis=axis), array(*sizes, dtype=kind))


def narrow_reductions(rng: Random) -> str:
    """Draws reductions that leave a minor dimension of few elements."""
    reduce: Callable[..., Any] = rng.choice([jnp.sum, jnp.max, jnp.min])
    sizes = [rng.randint(16, 20), rng.randint(32, 36), rng.randint(2, 4)]
    axis = rng.choice([0, 1, (0, 1)])
    kind = rng.choice(_KINDS)
    return lowered(lambda x: reduce(x, axis=axis), array(*sizes, dtype=kind))


def major_sums(rng: Random) -> str:
    """Draws sums over one or two major dimensions."""
    sizes = rng.choice([(2, 1024), (7, 33, 40), (3, 5, 1030), (4, 1, 64, 16)])
    kind = rng.choice(["float32", "float64"])
    axes = (0, 1) if sizes == (3, 5, 1030) else (0,)
    return lowered(lambda x: jnp.sum(x, axis=axes), array(*sizes, dtype=kind))


def major_reductions(rng: Random) -> str:
    """Draws reductions over one or two major dimensions."""
    reduce: Callable[..., Any] = rng.choice([jnp.sum, jnp.max, jnp.min])
    axes, sizes = rng.choice(
        [((0,), (8, 1024)), ((0,), (31, 33, 40)), ((0, 1), (3, 7, 1030)), ((0,), (23, 1025))]
    )
    kind = rng.choice(_KINDS)
    return lowered(lambda x: reduce(x, axis=axes), array(*sizes, dtype=kind))


def paths(moves: jax.Array) -> Any:
    """Returns prices from their moves over time, the first dimension."""
    return jnp.exp(jnp.cumsum(moves, axis=0))


def products_of_cosines(values: jax.Array) -> Any:
    """Returns cumulative products along the last dimension, of numbers near 1."""
    return jnp.cumprod(jnp.cos(values * 0.01), axis=-1)


def cumulative(
    rng: Random,
    functions: tuple[Callable[..., Any], ...],
    dtypes: tuple[Any, ...] = (jnp.float32, jnp.int32),
    lengths: tuple[int, ...] = (8, 20, 128, 129, 200, 8200),
) -> str:
    """Draws a cumulative operation along any dimension, from either end."""
    sizes = [rng.randint(1, 4) for _ in range(rng.randint(0, 2))]
    axis, reverse = rng.randint(0, len(sizes)), rng.random() < 0.5
    sizes.insert(axis, rng.choice(lengths))
    function = rng.choice(functions)
    dtype = rng.choice(dtypes)
    values = jnp.sin if jnp.issubdtype(dtype, jnp.floating) else jnp.negative
    shape = array(*sizes, dtype=dtype)
    return lowered(lambda x: function(values(x), axis=axis, reverse=reverse), shape)


SUMS = (lax.cumsum,)
OTHERS = (lax.cumprod, lax.cummax, lax.cummin)
ALL = (*SUMS, *OTHERS)


def moving(x: Any) -> Any:
    """Returns sums of four neighbours."""
    return lax.reduce_window(x, 0.0, lax.add, (1, 4), (1, 1), "SAME")


def greatest(images: jax.Array, *, taps: int, stride: int, padding: str = "VALID") -> jax.Array:
    """Returns the greatest elements of windows of images."""
    window, strides = (1, taps, taps, 1), (1, stride, stride, 1)
    return lax.reduce_window(images, -jnp.inf, lax.max, window, strides, padding)


def greatest_gradient(images: jax.Array, change: jax.Array, **options: Any) -> jax.Array:
    """Returns the gradient of images, from that of the greatest elements of their windows."""
    return jax.vjp(partial(greatest, **options), images)[1](change)[0]


def means(images: jax.Array, *, taps: int, stride: int) -> jax.Array:
    """Returns the means of windows of images."""
    window, strides = (1, taps, taps, 1), (1, stride, stride, 1)
    return lax.reduce_window(images, 0.0, lax.add, window, strides, "VALID") / taps**2


def similarity(image: jax.Array, other: jax.Array) -> jax.Array:
    """Returns the structural similarity of images, by windows of seven by seven."""
    mean = partial(means, taps=7, stride=1)
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

    def gradient(images: jax.Array, change: jax.Array) -> jax.Array:
        return jax.vjp(pool, images)[1](change)[0]

    return lowered(gradient, array(*sizes, dtype=kind), array(*result, dtype=kind))


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


PROGRAMS: Programs = {
    "major-sum-as-dot": major_sums,
    "major-reduction-by-halves": major_reductions,
    "narrow-reduction-by-slices": narrow_reductions,
    "short-reduction-as-sum": short_reductions,
    "cumulative-sum-in-blocks": lambda rng: cumulative(rng, SUMS),
    "cumulative-in-blocks": lambda rng: cumulative(rng, OTHERS),
    "cumulative-by-loop": lambda rng: cumulative(rng, ALL),
    "window-as-slices": windows,
    "window-gradient-by-comparison": gradients,
}


REFUSED: Refused = {
    "major-sum-as-dot": {
        "a sum over the minor dimension": program(partial(jnp.sum, axis=1), "1024x32"),
        "a narrow sum": program(partial(jnp.sum, axis=0), "1024x32"),
        "a sum of integers": program(partial(jnp.sum, axis=0), "s32:32x1024"),
        "a maximum": program(partial(jnp.max, axis=0), "32x1024"),
    },
    "major-reduction-by-halves": {
        "a dimension in the middle": program(partial(jnp.max, axis=1), "2x32x1024"),
        "few rows": program(partial(jnp.max, axis=0), "7x1024"),
        "a mean of booleans": program(partial(jnp.any, axis=0), "bool:32x1024"),
    },
    "short-reduction-as-sum": {
        "a dimension of many elements": program(partial(jnp.sum, axis=1), "64x17"),
        "few results": program(partial(jnp.sum, axis=1), "16x3"),
        "two dimensions": program(partial(jnp.sum, axis=(1, 2)), "64x2x2"),
        "an index too": program(partial(jnp.argmax, axis=1), "64x3"),
    },
    "narrow-reduction-by-slices": {
        "a wide minor dimension": program(partial(jnp.sum, axis=0), "512x8"),
        "a reduced minor dimension": program(partial(jnp.sum, axis=1), "512x3"),
    },
    "cumulative-sum-in-blocks": {
        "product": program(lax.cumprod, "32"),
        "short windows": program(moving, "2x32"),
        "few elements": program(lax.cumsum, "7"),
    },
    "cumulative-in-blocks": {"sum": program(lax.cumsum, "32")},
    "cumulative-by-loop": {
        "short windows": program(moving, "2x32"),
        "few elements": program(lax.cumsum, "4"),
        "long sums": program(lax.cumsum, "32768"),
    },
    "window-as-slices": {
        "a cumulative sum": program(partial(jnp.cumsum, axis=1), "4x32"),
        "windows of many elements": program(_pooled(lax.add, 0, **_window(65)), "80"),
        "an array with gaps": program(
            _pooled(lax.add, 0, **_window(2, 2, base_dilation=(2, 1))), "8x8"
        ),
        "another start": program(_pooled(lax.max, 0, **_window(2, 2)), "8x8"),
        "half precision": program(_pooled(lax.add, 0, **_window(2, 2)), "bf16:8x8"),
    },
    "window-gradient-by-comparison": {
        "large windows with a gradient": lambda: _gradient_text((16, 16), **_window(5, 5)),
        "half precision of a gradient": lambda: _gradient_text((8, 8), "bfloat16", **_window(2, 2)),
    },
}
