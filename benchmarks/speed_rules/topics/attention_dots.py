"""Rules about attention of one row for each head, with a cache."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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


def attended(query: jax.Array, keys: jax.Array, values: jax.Array) -> jax.Array:
    """Returns the values that a row attends to."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, keys) / query.shape[-1] ** 0.5
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), values)


def _case(
    batch: int, rows: int, heads: int, elements: int, program: str = "", *, pays: bool = True
) -> Case:
    cache = f32(batch, rows, heads, elements)
    return Case(
        f"{batch}x1x{heads}x{elements} with {rows} keys and values",
        attended,
        (f32(batch, 1, heads, elements), cache, cache),
        program,
        pays,
    )


CASES: Cases = {
    "heads-in-one-dot": [
        _case(1, 512, 6, 64, "gpt2/l6-h384-a6/cached-step-b1-s512"),
        _case(8, 256, 6, 64, "gpt2/l6-h384-a6/sampled-step-b8-s256"),
        _case(1, 150, 6, 64, "whisper/l3-h384-a6/greedy-b1-s300"),
        _case(1, 88, 12, 32, "llama/l4-h384-a12-gqa/greedy-b1-s64"),
        _case(1, 32, 2, 32, pays=False),
    ]
}


def _of(equation: str) -> Callable[..., jax.Array]:
    return lambda x, y: jnp.einsum(equation, x, y)


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


PROGRAMS: Programs = {"heads-in-one-dot": attention}

REFUSED: Refused = {
    "heads-in-one-dot": {
        "several rows for each head": program(
            _of("bqhd,bkhd->bhqk"), f32(2, 3, 4, 32), f32(2, 16, 4, 32)
        ),
        "heads before rows": program(_of("bhqd,bhkd->bhqk"), f32(2, 4, 1, 32), f32(2, 4, 16, 32)),
        "one head": program(_of("bqhd,bkhd->bhqk"), f32(1, 1, 1, 64), f32(1, 64, 1, 64)),
        "a small cache": program(_of("bqhd,bkhd->bhqk"), f32(1, 1, 4, 8), f32(1, 16, 4, 8)),
        "rows of integers": program(_of("bqhd,bkhd->bhqk"), s32(2, 1, 4, 32), s32(2, 16, 4, 32)),
    }
}
