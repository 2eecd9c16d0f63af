"""Rules about products of few rows and a matrix."""

from __future__ import annotations

from random import Random

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.case import (
    Case,
    Cases,
    Programs,
    Refused,
    array,
    f32,
    lowered,
    program,
    s32,
)


def transposed_layer(x: jax.Array, kernel: jax.Array, bias: jax.Array) -> jax.Array:
    """Returns a layer of GPT-2, whose kernel is stored transposed."""
    contracted = (((x.ndim - 1,), (0,)), ((), ()))
    return lax.dot_general(x, kernel.T, contracted) + bias


def _case(rows: int, inner: int, columns: int, program: str = "", *, pays: bool = True) -> Case:
    return Case(
        f"{rows}x1x{inner} times the transpose of {columns}x{inner}",
        transposed_layer,
        (f32(rows, 1, inner), f32(columns, inner), f32(columns)),
        program,
        pays,
    )


CASES: Cases = {
    "dot-of-few-rows-swapped": [
        _case(1, 384, 1152, "gpt2/l6-h384-a6/cached-step-b1-s512"),
        _case(1, 1536, 384, "gpt2/l6-h384-a6/cached-step-b1-s512"),
        _case(8, 384, 1152, "gpt2/l6-h384-a6/sampled-step-b8-s256"),
        _case(1, 384, 8192, "gpt2/l6-h384-a6/cached-step-b1-s512"),
        Case(
            "1x1x384 times 384x1152",
            lambda x, kernel: x @ kernel,
            (f32(1, 1, 384), f32(384, 1152)),
            program="llama/l4-h384-a12-gqa/greedy-b1-s64",
            pays=False,
        ),
    ]
}


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


PROGRAMS: Programs = {"dot-of-few-rows-swapped": few_rows}

REFUSED: Refused = {
    "dot-of-few-rows-swapped": {
        "many rows": program(jnp.dot, f32(32, 64), f32(64, 512)),
        "few columns": program(jnp.dot, f32(8, 512), f32(512, 16)),
        "a small matrix": program(jnp.dot, f32(1, 16), f32(16, 64)),
        "rows by batch": program(jnp.matmul, f32(4, 1, 64), f32(4, 64, 64)),
        "few rows of integers": program(jnp.dot, s32(1, 64), s32(64, 128)),
    }
}
