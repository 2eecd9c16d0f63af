"""Cases of attention of one row for each head, with a cache."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.case import Case, floats


def attended(query: jax.Array, keys: jax.Array, values: jax.Array) -> jax.Array:
    """Returns the values that a row attends to."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, keys) / query.shape[-1] ** 0.5
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), values)


def _case(
    batch: int, rows: int, heads: int, elements: int, program: str = "", *, pays: bool = True
) -> Case:
    cache = floats(batch, rows, heads, elements)
    return Case(
        ("heads-in-one-dot",),
        f"{batch}x1x{heads}x{elements} with {rows} keys and values",
        attended,
        (floats(batch, 1, heads, elements), cache, cache),
        program,
        pays,
    )


CASES: tuple[Case, ...] = (
    _case(1, 512, 6, 64, "gpt2/l6-h384-a6/cached-step-b1-s512"),
    _case(8, 256, 6, 64, "gpt2/l6-h384-a6/sampled-step-b8-s256"),
    _case(1, 150, 6, 64, "whisper/l3-h384-a6/greedy-b1-s300"),
    _case(1, 88, 12, 32, "llama/l4-h384-a12-gqa/greedy-b1-s64"),
    _case(1, 32, 2, 32, pays=False),
)
