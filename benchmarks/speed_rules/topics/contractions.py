"""The rule about sums of products of three arrays."""

from __future__ import annotations

from random import Random

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program


def six_matrices(*matrices: jax.Array) -> jax.Array:
    """Returns a sum of products of six matrices, of which any two have an index in common."""
    return jnp.einsum("ij,ik,il,jk,jl,kl->ij", *matrices)


def weighted_products(weights: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    """Returns a weighted sum of outer products, which are made first."""
    return jnp.einsum("a,aij->ij", weights, jnp.einsum("ai,aj->aij", x, y))


ORDERS = (
    ("ilj,jki->iljk", "kl,iljk->ij"),
    ("ai,aj->aij", "a,aij->ij"),
    ("ai,aj->aij", "aij,a->ji"),
    ("ij,kl->ijkl", "ijkl,jl->ik"),
    ("bij,bk->ijkb", "bj,ijkb->bik"),
    ("aic,acj->aij", "aij,aj->i"),
)
"""Equations of a product, and of another one with it, that another order makes smaller."""


def contractions(rng: Random) -> str:
    """Draws a product of three arrays."""
    inner, outer = rng.choice(ORDERS)
    size = {letter: rng.randint(16, 18) for letter in "abcijkl"}
    first, second = inner.split("->")[0].split(",")
    product = inner.split("->")[1]
    side = outer.split("->")[0].split(",").index(product)
    third = outer.split("->")[0].split(",")[1 - side]
    dtype = rng.choice(["float32", "float64"])

    def function(x: jax.Array, y: jax.Array, w: jax.Array) -> jax.Array:
        xy = jnp.einsum(inner, x, y)
        return jnp.einsum(outer, *((xy, w) if side == 0 else (w, xy)))

    shapes = ([size[letter] for letter in letters] for letters in (first, second, third))
    return lowered(function, *(array(*shape, dtype=dtype) for shape in shapes))


PROGRAMS: Programs = {"contraction-order": contractions}

REFUSED: Refused = {
    "contraction-order": {
        "square matrices": program(lambda x, y, w: (x @ y) @ w, "64x64 64x64 64x64"),
        "few elements": program(weighted_products, "6 6x5 6x7"),
        "more products": program(lambda x, y, w: (x @ y) @ w, "4x60 60x4096 4096x60"),
        "half precision": program(weighted_products, "bf16:64 bf16:64x32 bf16:64x32"),
        "a function between the products": program(
            lambda w, x, y: jnp.einsum("a,aij->ij", w, jnp.tanh(jnp.einsum("ai,aj->aij", x, y))),
            "64 64x32 64x32",
        ),
    }
}
