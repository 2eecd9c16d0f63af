"""Cases of products of few rows and a matrix."""

from __future__ import annotations

import jax
from jax import lax

from benchmarks.speed_rules.case import Case, floats


def transposed_layer(x: jax.Array, kernel: jax.Array, bias: jax.Array) -> jax.Array:
    """Returns a layer of GPT-2, whose kernel is stored transposed."""
    contracted = (((x.ndim - 1,), (0,)), ((), ()))
    return lax.dot_general(x, kernel.T, contracted) + bias


def _case(rows: int, inner: int, columns: int, program: str = "", *, pays: bool = True) -> Case:
    return Case(
        ("dot-of-few-rows-swapped",),
        f"{rows}x1x{inner} times the transpose of {columns}x{inner}",
        transposed_layer,
        (floats(rows, 1, inner), floats(columns, inner), floats(columns)),
        program,
        pays,
    )


CASES: tuple[Case, ...] = (
    _case(1, 384, 1152, "gpt2/l6-h384-a6/cached-step-b1-s512"),
    _case(1, 1536, 384, "gpt2/l6-h384-a6/cached-step-b1-s512"),
    _case(8, 384, 1152, "gpt2/l6-h384-a6/sampled-step-b8-s256"),
    _case(1, 384, 8192, "gpt2/l6-h384-a6/cached-step-b1-s512"),
    Case(
        ("dot-of-few-rows-swapped",),
        "1x1x384 times 384x1152",
        lambda x, kernel: x @ kernel,
        (floats(1, 1, 384), floats(384, 1152)),
        program="llama/l4-h384-a12-gqa/greedy-b1-s64",
        pays=False,
    ),
)
