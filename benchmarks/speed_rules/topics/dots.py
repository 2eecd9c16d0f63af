"""Rules about dots: small ones, of few rows, of attention, and of long contractions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program


def ode(state: jax.Array, matrix: jax.Array) -> jax.Array:
    """Returns a state after 200 steps of Runge and Kutta."""

    def slope(state: jax.Array) -> jax.Array:
        return jnp.tanh(matrix @ state) - 0.1 * state

    def step(state: jax.Array, _: None) -> Any:
        first = slope(state)
        second = slope(state + 0.005 * first)
        third = slope(state + 0.005 * second)
        fourth = slope(state + 0.01 * third)
        return state + 0.01 / 6 * (first + 2 * second + 2 * third + fourth), None

    return lax.scan(step, state, length=200)[0]


def kalman(moves: jax.Array, noise: jax.Array, sights: jax.Array) -> jax.Array:
    """Returns filtered covariances and means of a Kalman filter with one sensor."""
    size = len(moves)
    moves = 0.9 * jnp.eye(size) + 0.01 * moves
    spread = jnp.eye(size) + 0.01 * noise @ noise.T

    def step(carry: Any, sight: jax.Array) -> Any:
        mean, covariance = carry
        mean, covariance = moves @ mean, moves @ covariance @ moves.T + spread
        gain = covariance[:, 0] / (covariance[0, 0] + 1.0)
        mean = mean + gain * (sight - mean[0])
        covariance = covariance - gain[:, None] * covariance[0]
        return (mean, covariance), mean

    return lax.scan(step, (jnp.zeros(size), jnp.eye(size)), sights)[1]


def turned(matrices: jax.Array, points: jax.Array) -> jax.Array:
    """Returns points turned by a matrix each."""
    return jnp.einsum("bij,bj->bi", matrices, points)


def chained(first: jax.Array, second: jax.Array) -> jax.Array:
    """Returns products of pairs of small matrices."""
    return jnp.tanh(first @ second)


def lifted(points: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns a layer's features of points in space."""
    return jnp.tanh(points @ weights)


def _of(equation: str) -> Callable[..., jax.Array]:
    return partial(jnp.einsum, equation)


EQUATIONS = ("ij,j->i", "j,ij->i", "j,j->", "ij,jk->ik", "ji,kj->ik", "bij,bjk->bik", "bij,bj->bi")
"""Products of arrays with one dimension to sum over, j."""

WIDE = (*EQUATIONS, "ijl,jlk->ik", "bjl,bljk->bk", "bijl,jkl->bik")


def products(rng: Random, equations: tuple[str, ...]) -> str:
    """Draws a small product."""
    equation = rng.choice(equations)
    dtype = rng.choice([jnp.float32, jnp.float64])
    sizes = {letter: rng.randint(1, 5) for letter in "bijkl"}
    operands = [
        array(*(sizes[letter] for letter in letters), dtype=dtype)
        for letters in equation.split("->")[0].split(",")
    ]
    return lowered(_of(equation), *operands)


def transposed_layer(x: jax.Array, kernel: jax.Array, bias: jax.Array) -> jax.Array:
    """Returns a layer of GPT-2, whose kernel is stored transposed."""
    contracted = (((x.ndim - 1,), (0,)), ((), ()))
    return lax.dot_general(x, kernel.T, contracted) + bias


def few_rows(rng: Random) -> str:
    """Draws products of few rows and a matrix, also transposed."""
    kind = rng.choice(["float32", "float64"])
    rows = rng.choice([(), (1,), (3,), (2, 2), (1, 1, 5)])
    count, inner = rng.randint(64, 70), rng.randint(64, 70)
    transposed = rng.random() < 0.5
    columns = (count,) if rng.random() < 0.5 else (4, count // 4)
    matrix = (*columns, inner) if transposed else (inner, *columns)
    contracted = ((len(rows),), (len(columns),) if transposed else (0,))

    def product(x: jax.Array, matrix: jax.Array) -> jax.Array:
        return lax.dot_general(x, matrix, (contracted, ((), ())), precision=("highest", "default"))

    return lowered(product, array(*rows, inner, dtype=kind), array(*matrix, dtype=kind))


def attended(query: jax.Array, keys: jax.Array, values: jax.Array) -> jax.Array:
    """Returns the values that a row attends to."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, keys) / query.shape[-1] ** 0.5
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), values)


def attention(rng: Random) -> str:
    """Draws scores of keys or weighted sums of values, with the cache on either side."""
    batch, heads = rng.randint(1, 3), rng.randint(2, 5)
    rows, elements = rng.randint(16, 20), rng.randint(32, 40)
    dtype = rng.choice(["float32", "float64"])
    sizes = {"b": batch, "h": heads, "q": 1, "k": rows, "d": elements}
    ordered = (((1,), (2,)), ((2, 0), (0, 1)))  # batch dimensions in another order
    operands, function = rng.choice(
        [
            (("bqhd", "bkhd"), _of("bqhd,bkhd->bhqk")),
            (("bkhd", "bqhd"), _of("bkhd,bqhd->bhqk")),
            (("bhqk", "bkhd"), _of("bhqk,bkhd->bqhd")),
            (("bkhd", "hbk"), partial(lax.dot_general, dimension_numbers=ordered)),
            (("khd", "hd"), _of("khd,hd->hk")),
        ]
    )
    shapes = [[sizes[letter] for letter in letters] for letters in operands]
    return lowered(function, *(array(*shape, dtype=dtype) for shape in shapes))


def weight_gradient(x: jax.Array, upstream: jax.Array) -> jax.Array:
    """Returns the gradient of the weights of a layer, from its inputs and that of its results."""
    return jnp.einsum("ki,kj->ij", x, upstream)


def _gradient(x: jax.Array, y: jax.Array, contracted: int = 1) -> jax.Array:
    """Returns the product of two arrays over their first dimensions."""
    first = tuple(range(contracted))
    numbers = ((first, first), ((), ()))
    return lax.dot_general(x, y, numbers, precision=("highest", "default"))


def long_contractions(rng: Random) -> str:
    """Draws a product over one to three dimensions."""
    dtype = rng.choice(["float32", "float64"])
    contracted = rng.choice([(1024,), (1028,), (2, 514), (2, 256, 3)])
    rows, columns = rng.randint(32, 48), rng.randint(32, 48)
    left = (rows,) if rng.random() < 0.5 else (2, rows // 2)
    right = (columns,) if rng.random() < 0.5 else (columns // 2, 2)
    return lowered(
        partial(_gradient, contracted=len(contracted)),
        array(*contracted, *left, dtype=dtype),
        array(*contracted, *right, dtype=dtype),
    )


PROGRAMS: Programs = {
    "small-dot-as-sum": lambda rng: products(rng, WIDE),
    "short-dot-as-slices": lambda rng: products(rng, EQUATIONS),
    "dot-of-few-rows-swapped": few_rows,
    "heads-in-one-dot": attention,
    "contraction-in-parts": long_contractions,
}


REFUSED: Refused = {
    "small-dot-as-sum": {
        "large dot": program(jnp.matmul, "96x256 256x96"),
        "small dot of half precision": program(jnp.matmul, "f16:4x4 f16:4x4"),
    },
    "short-dot-as-slices": {
        "long dot": program(jnp.matmul, "4x9 9x4"),
        "short dot of integers": program(jnp.matmul, "s32:4x4 s32:4x4"),
    },
    "dot-of-few-rows-swapped": {
        "many rows": program(jnp.dot, "32x64 64x512"),
        "few columns": program(jnp.dot, "8x512 512x16"),
        "a small matrix": program(jnp.dot, "1x16 16x64"),
        "rows by batch": program(jnp.matmul, "4x1x64 4x64x64"),
        "few rows of integers": program(jnp.dot, "s32:1x64 s32:64x128"),
    },
    "heads-in-one-dot": {
        "several rows for each head": program(_of("bqhd,bkhd->bhqk"), "2x3x4x32 2x16x4x32"),
        "heads before rows": program(_of("bhqd,bhkd->bhqk"), "2x4x1x32 2x4x16x32"),
        "one head": program(_of("bqhd,bkhd->bhqk"), "1x1x1x64 1x64x1x64"),
        "a small cache": program(_of("bqhd,bkhd->bhqk"), "1x1x4x8 1x16x4x8"),
        "rows of integers": program(_of("bqhd,bkhd->bhqk"), "s32:2x1x4x32 s32:2x16x4x32"),
    },
    "contraction-in-parts": {
        "few contracted elements": program(_gradient, "512x32 512x32"),
        "a wide operand": program(_gradient, "1024x32 1024x128"),
        "few results": program(_gradient, "1024x4 1024x64"),
        "no four equal parts": program(_gradient, "1026x32 1026x32"),
        "contracted along rows": program(jnp.dot, "32x1024 1024x32"),
        "long contraction of integers": program(_gradient, "s32:1024x32 s32:1024x32"),
    },
}
