"""Reductions and windows on both sides of the clauses of claims."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.lowering import array, lowered
from tests.proofs.boundaries.boundary import Boundary, either, factors, of, shaped


def _reduced(n: int) -> str:
    """Returns the greatest elements over two major dimensions, with so many in all."""
    first, second = factors(n)
    return lowered(lambda x: jnp.max(x, axis=(0, 1)), array(first, second, 1024))


def _windowed(n: int) -> str:
    def function(x: Any) -> Any:
        return lax.reduce_window(x, 0.0, lax.add, (n,), (1,), "VALID")

    return lowered(function, array(n + 16))


def _selected(n: int) -> str:
    """Returns what the greatest elements of windows pass on; padded for 0."""
    padding, results = ("", 4) if n else (" pad=1_1", 5)
    return f"""HloModule program

at_least {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT result = pred[] compare(a, b), direction=GE
}}

add {{
  c = f32[] parameter(0)
  d = f32[] parameter(1)
  ROOT sum = f32[] add(c, d)
}}

ENTRY main {{
  x = f32[8] parameter(0)
  g = f32[{results}] parameter(1)
  zero = f32[] constant(0)
  ROOT y = f32[8] select-and-scatter(x, g, zero), window={{size=2 stride=2{padding}}},
    select=at_least, scatter=add
}}
"""


def _pooled(taps: tuple[int, int]) -> Callable[[], str]:
    def pool(x: Any) -> Any:
        window = (1, *taps, 1)
        return lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")

    def program() -> str:
        x = array(2, 8 * taps[0], 8 * taps[1], 3)
        result = jax.eval_shape(pool, x)
        return lowered(lambda x, g: jax.vjp(pool, x)[1](g)[0], x, result)

    return program


def _pairs(between: Callable[[Any], Any]) -> Callable[[], str]:
    """Returns a sum over all pairs of points on a plane, for arrays of 8 MiB."""
    return of(partial(_pair_sums, between), "1024x2 1024x2")


def _pair_sums(between: Callable[[Any], Any], x: Any, y: Any) -> Any:
    squares = jnp.square(x[:, None] - y).sum(-1, keepdims=True)
    return (x[:, None] * between(squares)).sum(1)


def _weighted(with_scores: bool, queries: Any, keys: Any, values: Any) -> Any:
    weights = jax.nn.softmax(queries @ keys.T)
    return (weights @ values, weights) if with_scores else weights @ values


REDUCTIONS = (
    Boundary(
        "contraction-in-blocks",
        "no operation that is computed in blocks mixes the indices of the dimension",
        either(_pairs(jnp.abs), _pairs(lambda squares: squares[::-1, ::-1])),
    ),
    Boundary(
        "contraction-in-blocks",
        "at least 2,097,152 bytes",
        lambda n: of(partial(_pair_sums, jnp.abs), f"{n // 4096}x2 512x2")(),
        step=4096,
    ),
    Boundary(
        "contraction-in-blocks",
        "another sum or product is computed in blocks",
        either(_pairs(jnp.abs), of(lambda x, y: jnp.exp(x[:, None] * y).sum(1), "1024 1024")),
    ),
    Boundary(
        "contraction-in-blocks",
        "what is read takes less memory than what is not stored",
        either(
            of(lambda x, v, w: jnp.tanh(x @ v) @ w, "65536x16 16x64 64x4"),
            of(lambda x, v, w: jnp.tanh(x @ v) @ w, "65536x64 64x16 16x4"),
        ),
    ),
    Boundary(
        "contraction-in-blocks",
        "no others need values of blocks that a product is among",
        either(
            of(partial(_weighted, False), "1024x16 1024x16 1024x16"),
            of(partial(_weighted, True), "1024x16 1024x16 1024x16"),
        ),
    ),
    Boundary(
        "short-reduction-as-sum",
        "over one dimension of 2 to 16 elements",
        shaped(partial(jnp.sum, axis=1), "64xn"),
    ),
    Boundary(
        "short-reduction-as-sum",
        "over one dimension",
        either(of(partial(jnp.sum, axis=1), "64x4"), of(partial(jnp.sum, axis=(1, 2)), "64x2x2")),
    ),
    Boundary(
        "narrow-reduction-by-slices",
        "has 2 to 4 elements",
        shaped(partial(jnp.sum, axis=0), "512xn"),
    ),
    Boundary(
        "narrow-reduction-by-slices",
        "the minor dimension is kept",
        either(of(partial(jnp.sum, axis=0), "512x3"), of(partial(jnp.sum, axis=(0, 1)), "512x3")),
    ),
    Boundary(
        "major-sum-as-dot",
        "over the major dimensions",
        either(of(partial(jnp.sum, axis=0), "32x1024"), of(partial(jnp.sum, axis=1), "2x32x1024")),
    ),
    Boundary("major-reduction-by-halves", "8 to 1,024 elements in all", _reduced),
    Boundary(
        "major-reduction-by-halves",
        "over the major dimensions",
        either(of(partial(jnp.max, axis=0), "32x1024"), of(partial(jnp.max, axis=1), "2x32x1024")),
    ),
    Boundary("window-as-slices", "windows of at most 64 elements along an axis", _windowed),
    Boundary(
        "window-as-slices",
        "without gaps in the input",
        either(
            of(lambda x: lax.reduce_window(x, 0.0, lax.add, (2,), (1,), "VALID"), "8"),
            of(
                lambda x: lax.reduce_window(
                    x, 0.0, lax.add, (2,), (1,), "VALID", base_dilation=(2,)
                ),
                "8",
            ),
        ),
    ),
    Boundary(
        "window-gradient-by-comparison",
        "windows of at most 16 elements",
        lambda n: _pooled((1, n))(),
    ),
    Boundary(
        "window-gradient-by-comparison",
        "without padding or dilation",
        _selected,
    ),
    *(
        Boundary(
            rule,
            "windows of all elements up to each one, or from it on",
            either(
                of(partial(cumulate, axis=0), "128"),
                of(
                    lambda x, start=start, combine=combine: lax.reduce_window(
                        x, start, combine, (128,), (1,), [(126, 1)]
                    ),
                    "128",
                ),
            ),
        )
        for rule, cumulate, combine, start in (
            ("cumulative-sum-in-blocks", lax.cumsum, lax.add, 0.0),
            ("cumulative-in-blocks", lax.cummax, lax.max, -jnp.inf),
        )
    ),
    Boundary(
        "distances-by-dot",
        "a sum of squares of differences of broadcasts, at least 4 wide",
        shaped(lambda x, c: jnp.sum((x[:, None] - c[None]) ** 2, axis=-1), "6xn 4xn"),
    ),
    Boundary(
        "distances-by-dot",
        "a sum of squares",
        either(
            of(lambda x, c: jnp.sum((x[:, None] - c[None]) ** 2, axis=-1), "6x5 4x5"),
            of(lambda x, c: jnp.sum((x[:, None] - c[None]) ** 3, axis=-1), "6x5 4x5"),
        ),
    ),
    Boundary(
        "short-sum-as-slices",
        "over one dimension of 2 to 16 elements",
        shaped(lambda x, c: jnp.sum((x[:, None] - c[None]) ** 2, axis=-1), "6xn 4xn"),
    ),
    Boundary(
        "cumulative-by-loop",
        "of all elements up to each one, or from it on",
        either(
            of(lambda x: lax.cumsum(x, 0), "128"),
            of(lambda x: lax.reduce_window(x, 0.0, lax.add, (127,), (1,), [(126, 0)]), "128"),
        ),
    ),
)
