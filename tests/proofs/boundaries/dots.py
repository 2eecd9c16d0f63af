"""Dots on both sides of the clauses of claims."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.lowering import array, lowered
from tests.proofs.boundaries.boundary import Boundary, MakeProgram, either, of, shaped


def _einsum(equation: str) -> Callable[..., Any]:
    return partial(jnp.einsum, equation)


def _parts(n: int) -> str:
    """Returns a product of a multiple of four contracted elements, or of two more."""
    size = 1024 if n else 1026
    return lowered(_einsum("ki,kj->ij"), array(size, 32), array(size, 32))


def _of_shared(opcode_operands: str, shared: int) -> MakeProgram:
    """Returns two dots, an operand of which is the same, and is none that the other one makes."""

    def program(n: int) -> str:
        def function(x: Any, v: Any, w: Any) -> Any:
            first = x @ v if shared == 0 else v @ x
            if opcode_operands == "depends":
                other = w if n else w + first
                second = x @ other if shared == 0 else other @ x
            else:
                same = x if n else x + 1
                second = same @ w if shared == 0 else w @ same
            return first, second

        return lowered(function, *(array(8, 8) for _ in range(3)))

    return program


def _outer(x: Any, y: Any) -> Any:
    return jnp.einsum("ij,kl->ijkl", x, y)


DOTS = (
    Boundary(
        "contraction-order",
        "one of the first two arrays has all of an index that is summed with the third",
        either(
            of(lambda x, y, w: jnp.einsum("ij,ijkl->ikl", w, _outer(x, y)), "16x16 16x16 16x16"),
            of(
                lambda x, y, w: _outer(x, y).transpose(0, 2, 1, 3).reshape(256, 256) @ w,
                "16x16 16x16 256",
            ),
        ),
    ),
    Boundary(
        "short-dot-as-slices",
        "one contracted dimension of at most 8 elements",
        shaped(jnp.matmul, "4xn nx4"),
    ),
    Boundary(
        "short-dot-as-slices",
        "one contracted dimension",
        either(
            of(_einsum("ij,jk->ik"), "4x4 4x4"),
            of(
                lambda x, y: lax.dot_general(x, y, (((1, 2), (0, 1)), ((), ()))),
                "4x2x2 2x2x4",
            ),
        ),
    ),
    Boundary("small-dot-as-sum", "at most 64 contracted elements", shaped(jnp.matmul, "2xn nx2")),
    Boundary("small-dot-as-sum", "4,096 products", shaped(jnp.matmul, "nx1 1x1")),
    Boundary("dot-of-few-rows-swapped", "at most 16 rows", shaped(jnp.dot, "nx64 64x512")),
    Boundary(
        "dot-of-few-rows-swapped",
        "no batch dimensions",
        either(of(jnp.dot, "1x64 64x128"), of(jnp.matmul, "2x1x64 2x64x128")),
    ),
    Boundary("contraction-in-parts", "a multiple of four contracted elements", _parts),
    Boundary(
        "contraction-in-parts",
        "which come first",
        either(of(_einsum("ki,kj->ij"), "1024x32 1024x32"), of(jnp.dot, "32x1024 1024x32")),
    ),
    Boundary(
        "contraction-in-parts",
        "no batch dimensions",
        either(
            of(_einsum("ki,kj->ij"), "1024x32 1024x32"),
            of(
                lambda x, y: lax.dot_general(x, y, (((1,), (1,)), ((0,), (0,)))),
                "2x1024x32 2x1024x32",
            ),
        ),
    ),
    Boundary(
        "heads-in-one-dot",
        "one row for each head",
        either(
            of(_einsum("bqhd,bkhd->bhqk"), "2x1x4x32 2x16x4x32"),
            of(_einsum("bqhd,bkhd->bhqk"), "2x2x4x32 2x16x4x32"),
        ),
    ),
    Boundary("merge-dots:lhs", "the left operands are the same", _of_shared("same", 0)),
    Boundary("merge-dots:lhs", "neither product depends on the other", _of_shared("depends", 0)),
    Boundary("merge-dots:rhs", "the right operands are the same", _of_shared("same", 1)),
    Boundary("merge-dots:rhs", "neither product depends on the other", _of_shared("depends", 1)),
    Boundary(
        "join-contractions",
        "the results have one shape",
        either(
            of(lambda x, v, y, w: x @ v + y @ w, "4x4 4x4 4x8 8x4"),
            of(lambda x, v, y, w: x @ v + y @ w, "4x4 4x4 1x8 8x4"),
        ),
    ),
    Boundary(
        "distribute-dot",
        "an operand is a sum or a difference",
        either(
            of(lambda x, y, w: (x + y) @ w, "4x4 4x4 4x4"),
            of(lambda x, y, w: (x * y) @ w, "4x4 4x4 4x4"),
        ),
    ),
    Boundary(
        "factor-dots",
        "the products differ in one operand only",
        either(
            of(lambda x, y, v, w: x @ w + y @ w, "4x4 4x4 4x4 4x4"),
            of(lambda x, y, v, w: x @ v + y @ w, "4x4 4x4 4x4 4x4"),
        ),
    ),
    Boundary(
        "scale-operand:dot",
        "the scale is constant along what the product sums over",
        either(
            of(lambda x, w, s: (x @ w) * s[:, None], "4x4 4x4 4"),
            of(lambda x, w, s: (x @ w) * (s[:, None] + s), "4x4 4x4 4"),
        ),
    ),
    Boundary(
        "scale-result:dot",
        "the scale is constant along what the product sums over",
        either(
            of(lambda x, w, s: (x * s[:, None]) @ w, "4x4 4x4 4"),
            of(lambda x, w, s: (x * s) @ w, "4x4 4x4 4"),
        ),
    ),
    Boundary(
        "split-dot",
        "an operand is a concatenation along a dimension of the result",
        either(
            of(lambda x, v, w: x @ jnp.concatenate([v, w], 1), "4x8 8x4 8x4"),
            of(lambda x, v, w: x @ jnp.concatenate([v, w], 0), "4x8 4x4 4x4"),
        ),
    ),
)
