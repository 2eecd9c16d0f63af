"""The rule about sums and products of arrays that are larger than the cache."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program


def pulls(targets: jax.Array, sources: jax.Array, masses: jax.Array) -> jax.Array:
    """Returns the sum of the pulls of all sources on each target."""
    between = sources - targets[:, None]
    distances = jnp.sqrt(jnp.square(between).sum(-1, keepdims=True) + 1e-3)
    return (masses[:, None] * between / distances**3).sum(1)


def kernel_gradient(x: jax.Array, y: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns the gradients of weighted sums of Gaussian kernels."""

    def total(x: jax.Array) -> jax.Array:
        squares = jnp.square(x[:, None] - y).sum(-1)
        return (weights * jnp.exp(-squares / 2)).sum()

    return jax.grad(total)(x)


def nearest_gradient(x: jax.Array, y: jax.Array) -> jax.Array:
    """Returns the gradients of the sum of the distances of the nearest points."""

    def total(x: jax.Array) -> jax.Array:
        return jnp.sqrt(jnp.square(x[:, None] - y).sum(-1)).min(1).sum()

    return jax.grad(total)(x)


def attention(queries: jax.Array, keys: jax.Array, values: jax.Array) -> jax.Array:
    """Returns the values of each head, weighted by those keys that are not later."""
    scores = jnp.einsum("hsd,htd->hst", queries, keys) / queries.shape[-1] ** 0.5
    earlier = jnp.tril(jnp.ones(scores.shape[1:], bool))
    weights = jax.nn.softmax(jnp.where(earlier, scores, -1e9))
    return jnp.einsum("hst,htd->hsd", weights, values)


def gated_layer(x: jax.Array, gates: jax.Array, first: jax.Array, second: jax.Array) -> jax.Array:
    """Returns two products of each row, with gates between."""
    return (jax.nn.silu(x @ gates) * (x @ first)) @ second


def draw_sums(rng: Random) -> str:
    """Draws sums over all pairs, or products of what two products are multiplied to."""
    dtype, width = rng.choice(["float32", "int32"]), rng.randint(2, 3)
    columns, batch, axis = rng.choice([601, 1024]), rng.randint(1, 3), rng.choice([0, 1])
    rows = -(-2_200_000 // (4 * columns))
    mask = rng.random() < 0.5

    def pairs(x: jax.Array, y: jax.Array) -> jax.Array:
        between = x[:, None] - y
        squares = jnp.square(between).sum(-1, keepdims=True)
        if mask:
            squares = jnp.where(
                jnp.eye(squares.shape[0], squares.shape[1])[..., None] > 0, 0, squares
            )
        return (between * squares + squares).sum(axis)

    def products(x: jax.Array, y: jax.Array) -> jax.Array:
        scores = jnp.einsum("bid,jd->bij", x, y)
        return jnp.einsum("bij,jd->bid", scores + abs(scores).max(-1, keepdims=True), y)

    y = array(columns, width, dtype=dtype)
    if rng.random() < 0.5:
        return lowered(pairs, array(rows // width + 1, width, dtype=dtype), y)
    return lowered(products, array(batch, rows // batch + 1, width, dtype=dtype), y)


PROGRAMS: Programs = {"contraction-in-blocks": draw_sums}


def _pairs(
    function: Callable[..., Any] = lambda between: between, shapes: str = "1024x2 1024x2"
) -> Callable[[], str]:
    """Returns a sum over all pairs, of their squared distances."""

    def run(x: jax.Array, y: jax.Array) -> Any:
        return (x[:, None] * function(jnp.square(x[:, None] - y).sum(-1, keepdims=True))).sum(1)

    return program(run, shapes)


def _with_scores(queries: jax.Array, keys: jax.Array, values: jax.Array) -> Any:
    weights = jax.nn.softmax(queries @ keys.T)
    return weights, weights @ values


REFUSED: Refused = {
    "contraction-in-blocks": {
        "small arrays": _pairs(shapes="256x2 256x2"),
        "one sum": program(lambda x, y: jnp.exp(x[:, None] * y).sum(1), "1024 1024"),
        "sorted between": _pairs(lambda squares: jnp.sort(jnp.sort(squares, 0), 1)),
        "reversed between": _pairs(lambda squares: squares[::-1, ::-1]),
        "scores that are a result too": program(_with_scores, "1024x16 1024x16 1024x16"),
        "products of larger arrays": program(
            lambda x, v, w: jnp.tanh(x @ v) @ w, "65536x64 64x16 16x4"
        ),
        "a larger result": program(lambda x, v, w: (x @ v) @ w, "2048x512 512x256 256x4096"),
    }
}
